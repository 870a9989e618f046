"""handful inside of other packages: one file for each, loaded only when it is imported.

    river         a policy that river's loops and evaluations run
    optuna        a sampler that repeats noisy trials of promising configurations
    gymnasium     an environment of our instances
    openfeature   a provider of feature flags that asks the service
    estimator     `partial_fit` and `predict`, as scikit-learn's estimators have them
    streaming     a pure function of bytes, for stream processors such as Bytewax

Each of them decides as the policy itself would. All but the environment, which is an instance of
the simulator, use only what `handful` makes public.
"""
