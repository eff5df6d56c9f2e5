"use strict";
// Browsers start no worker for a page opened from a disk (file:), and the search of this site
// runs in one. There, and only there, its script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    #ready;

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inner.importScripts = (...urls) => Promise.all(urls.map((one) => this.#run(one)));
      this.#ready = this.#run(url);
    }

    #run(url) {
      const script = this.inner.document.createElement("script");
      script.src = new URL(url, document.baseURI);
      return new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = reject;
        this.inner.document.head.append(script);
      });
    }

    async postMessage(data) {
      await this.#ready;
      this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
    }

    terminate() {
      this.inner.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
