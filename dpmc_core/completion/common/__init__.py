"""What several completion algorithms share: steps and models, parameters, profiles, baselines."""
