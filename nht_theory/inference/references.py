"""BibTeX of the statistical methods: a result names its keys, a citation prints these entries."""

from __future__ import annotations

from collections.abc import Iterable

from nht_theory.errors import InputError

REFERENCES: dict[str, str] = {
    "arXiv:2603.07323": """@misc{arXiv:2603.07323,
  author = {Khanh, Truong Xuan and Hoa, Truong Quynh},
  title = {Norm-Hierarchy Transitions in Representation Learning: When and Why Neural Networks
    Abandon Shortcuts},
  year = {2026}, eprint = {2603.07323}, archivePrefix = {arXiv}, primaryClass = {cs.LG}
}""",
    "arXiv:2603.13331": """@misc{arXiv:2603.13331,
  author = {Khanh, Truong Xuan and Hoa, Truong Quynh and Trung, Luu Duc and Duc, Phan Thanh},
  title = {The Norm-Separation Delay Law of Grokking: A First-Principles Theory of Delayed
    Generalization},
  year = {2026}, eprint = {2603.13331}, archivePrefix = {arXiv}, primaryClass = {cs.LG}
}""",
    "arXiv:2605.18845": """@misc{arXiv:2605.18845,
  author = {Khanh, Truong Xuan and Hoa, Truong Quynh and Trung, Luu Duc and Duc, Phan Thanh},
  title = {First-Passage Prediction of Grokking Delay: A Calibrated Law under {AdamW} with Causal
    Validation},
  year = {2026}, eprint = {2605.18845}, archivePrefix = {arXiv}, primaryClass = {cs.LG}
}""",
    "arXiv:2606.13753": """@misc{arXiv:2606.13753,
  author = {Khanh, Truong Xuan and Viet, Doan Hoang and Trung, Luu Duc and Duc, Phan Thanh},
  title = {The Weight Norm Sets the Grokking Timescale: A Causal Delay Law},
  year = {2026}, eprint = {2606.13753}, archivePrefix = {arXiv}, primaryClass = {cs.LG}
}""",
    "arXiv:2606.18465": """@misc{arXiv:2606.18465,
  author = {Khanh, Truong Xuan},
  title = {What Does the Weight Norm Control in Grokking? {Logit}-Scale Mediation under
    Cross-Entropy},
  year = {2026}, eprint = {2606.18465}, archivePrefix = {arXiv}, primaryClass = {cs.LG}
}""",
    "akaike1974": """@article{akaike1974,
  author = {Akaike, Hirotugu},
  title = {A new look at the statistical model identification},
  journal = {IEEE Transactions on Automatic Control},
  volume = {19}, number = {6}, pages = {716--723}, year = {1974},
  doi = {10.1109/TAC.1974.1100705}
}""",
    "arvesen1969": """@article{arvesen1969,
  author = {Arvesen, James N.},
  title = {Jackknifing {U}-statistics},
  journal = {The Annals of Mathematical Statistics},
  volume = {40}, number = {6}, pages = {2076--2100}, year = {1969},
  doi = {10.1214/aoms/1177697287}
}""",
    "boag1949": """@article{boag1949,
  author = {Boag, John W.},
  title = {Maximum likelihood estimates of the proportion of patients cured by cancer therapy},
  journal = {Journal of the Royal Statistical Society, Series B},
  volume = {11}, number = {1}, pages = {15--53}, year = {1949}
}""",
    "cameron2008": """@article{cameron2008,
  author = {Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.},
  title = {Bootstrap-based improvements for inference with clustered errors},
  journal = {The Review of Economics and Statistics},
  volume = {90}, number = {3}, pages = {414--427}, year = {2008},
  doi = {10.1162/rest.90.3.414}
}""",
    "clopper1934": """@article{clopper1934,
  author = {Clopper, C. J. and Pearson, E. S.},
  title = {The use of confidence or fiducial limits illustrated in the case of the binomial},
  journal = {Biometrika},
  volume = {26}, number = {4}, pages = {404--413}, year = {1934},
  doi = {10.1093/biomet/26.4.404}
}""",
    "davison1997": """@book{davison1997,
  author = {Davison, A. C. and Hinkley, D. V.},
  title = {Bootstrap Methods and their Application},
  publisher = {Cambridge University Press}, year = {1997},
  doi = {10.1017/CBO9780511802843}
}""",
    "efron1993": """@book{efron1993,
  author = {Efron, Bradley and Tibshirani, Robert J.},
  title = {An Introduction to the Bootstrap},
  publisher = {Chapman and Hall}, year = {1993},
  doi = {10.1201/9780429246593}
}""",
    "fisher1922": """@article{fisher1922,
  author = {Fisher, R. A.},
  title = {On the interpretation of $\\chi^2$ from contingency tables, and the calculation of P},
  journal = {Journal of the Royal Statistical Society},
  volume = {85}, number = {1}, pages = {87--94}, year = {1922},
  doi = {10.2307/2340521}
}""",
    "gehan1965": """@article{gehan1965,
  author = {Gehan, Edmund A.},
  title = {A generalized {W}ilcoxon test for comparing arbitrarily singly-censored samples},
  journal = {Biometrika},
  volume = {52}, number = {1/2}, pages = {203--223}, year = {1965},
  doi = {10.2307/2333825}
}""",
    "holm1979": """@article{holm1979,
  author = {Holm, Sture},
  title = {A simple sequentially rejective multiple test procedure},
  journal = {Scandinavian Journal of Statistics},
  volume = {6}, number = {2}, pages = {65--70}, year = {1979}
}""",
    "hurvich1989": """@article{hurvich1989,
  author = {Hurvich, Clifford M. and Tsai, Chih-Ling},
  title = {Regression and time series model selection in small samples},
  journal = {Biometrika},
  volume = {76}, number = {2}, pages = {297--307}, year = {1989},
  doi = {10.1093/biomet/76.2.297}
}""",
    "jonckheere1954": """@article{jonckheere1954,
  author = {Jonckheere, A. R.},
  title = {A distribution-free k-sample test against ordered alternatives},
  journal = {Biometrika},
  volume = {41}, number = {1/2}, pages = {133--145}, year = {1954},
  doi = {10.2307/2333011}
}""",
    "kalbfleisch2002": """@book{kalbfleisch2002,
  author = {Kalbfleisch, John D. and Prentice, Ross L.},
  title = {The Statistical Analysis of Failure Time Data},
  edition = {2}, publisher = {Wiley}, year = {2002},
  doi = {10.1002/9781118032985}
}""",
    "kaplan1958": """@article{kaplan1958,
  author = {Kaplan, E. L. and Meier, Paul},
  title = {Nonparametric estimation from incomplete observations},
  journal = {Journal of the American Statistical Association},
  volume = {53}, number = {282}, pages = {457--481}, year = {1958},
  doi = {10.1080/01621459.1958.10501452}
}""",
    "mackinnon2023": """@article{mackinnon2023,
  author = {MacKinnon, James G. and Nielsen, Morten {\\O}rregaard and Webb, Matthew D.},
  title = {Fast and reliable jackknife and bootstrap methods for cluster-robust inference},
  journal = {Journal of Applied Econometrics},
  volume = {38}, number = {5}, pages = {671--694}, year = {2023},
  doi = {10.1002/jae.2969}
}""",
    "mann1947": """@article{mann1947,
  author = {Mann, H. B. and Whitney, D. R.},
  title = {On a test of whether one of two random variables is stochastically larger than the
    other},
  journal = {The Annals of Mathematical Statistics},
  volume = {18}, number = {1}, pages = {50--60}, year = {1947},
  doi = {10.1214/aoms/1177730491}
}""",
    "newson2006": """@article{newson2006,
  author = {Newson, Roger},
  title = {Confidence intervals for rank statistics: {S}omers' {D} and extensions},
  journal = {The Stata Journal},
  volume = {6}, number = {3}, pages = {309--334}, year = {2006},
  doi = {10.1177/1536867X0600600302}
}""",
    "olsen1978": """@article{olsen1978,
  author = {Olsen, Randall J.},
  title = {Note on the uniqueness of the maximum likelihood estimator for the {T}obit model},
  journal = {Econometrica},
  volume = {46}, number = {5}, pages = {1211--1215}, year = {1978},
  doi = {10.2307/1911445}
}""",
    "page1963": """@article{page1963,
  author = {Page, Ellis Batten},
  title = {Ordered hypotheses for multiple treatments: a significance test for linear ranks},
  journal = {Journal of the American Statistical Association},
  volume = {58}, number = {301}, pages = {216--230}, year = {1963},
  doi = {10.1080/01621459.1963.10500843}
}""",
    "phipson2010": """@article{phipson2010,
  author = {Phipson, Belinda and Smyth, Gordon K.},
  title = {Permutation {P}-values should never be zero: calculating exact {P}-values when
    permutations are randomly drawn},
  journal = {Statistical Applications in Genetics and Molecular Biology},
  volume = {9}, number = {1}, pages = {39}, year = {2010},
  doi = {10.2202/1544-6115.1585}
}""",
    "schuirmann1987": """@article{schuirmann1987,
  author = {Schuirmann, Donald J.},
  title = {A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability},
  journal = {Journal of Pharmacokinetics and Biopharmaceutics},
  volume = {15}, number = {6}, pages = {657--680}, year = {1987},
  doi = {10.1007/BF01068419}
}""",
    "seabold2010": """@inproceedings{seabold2010,
  author = {Seabold, Skipper and Perktold, Josef},
  title = {statsmodels: econometric and statistical modeling with {P}ython},
  booktitle = {Proceedings of the 9th Python in Science Conference},
  pages = {92--96}, year = {2010}, doi = {10.25080/Majora-92bf1922-011}
}""",
    "somers1962": """@article{somers1962,
  author = {Somers, Robert H.},
  title = {A new asymmetric measure of association for ordinal variables},
  journal = {American Sociological Review},
  volume = {27}, number = {6}, pages = {799--811}, year = {1962},
  doi = {10.2307/2090408}
}""",
    "turnbull1976": """@article{turnbull1976,
  author = {Turnbull, Bruce W.},
  title = {The empirical distribution function with arbitrarily grouped, censored and truncated
    data},
  journal = {Journal of the Royal Statistical Society, Series B},
  volume = {38}, number = {3}, pages = {290--295}, year = {1976},
  doi = {10.1111/j.2517-6161.1976.tb01597.x}
}""",
    "vuong1989": """@article{vuong1989,
  author = {Vuong, Quang H.},
  title = {Likelihood ratio tests for model selection and non-nested hypotheses},
  journal = {Econometrica},
  volume = {57}, number = {2}, pages = {307--333}, year = {1989},
  doi = {10.2307/1912557}
}""",
    "wilson1927": """@article{wilson1927,
  author = {Wilson, Edwin B.},
  title = {Probable inference, the law of succession, and statistical inference},
  journal = {Journal of the American Statistical Association},
  volume = {22}, number = {158}, pages = {209--212}, year = {1927},
  doi = {10.1080/01621459.1927.10502953}
}""",
}


def bibtex(keys: Iterable[str]) -> str:
    """The BibTeX entries of ``keys``, each once, sorted, separated by blank lines.

    Raises:
        InputError: a key has no entry.

    Example:
        >>> bibtex(["holm1979", "holm1979"]).splitlines()[0]
        '@article{holm1979,'
    """
    wanted = sorted(set(keys))
    unknown = [key for key in wanted if key not in REFERENCES]
    if unknown:
        raise InputError(
            f"no reference named {', '.join(unknown)}",
            source="nht_theory.inference.references",
            remedy="add its BibTeX entry to REFERENCES",
        )
    return "\n\n".join(REFERENCES[key] for key in wanted)
