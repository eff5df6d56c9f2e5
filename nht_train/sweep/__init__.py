"""Many runs from one study file, on this machine or on a cluster."""
