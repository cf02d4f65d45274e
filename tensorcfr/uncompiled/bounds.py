"""stub"""
LocalBestResponse = SampledValues = local_best_response = sampled_values = None
