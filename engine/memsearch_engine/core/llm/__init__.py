"""Language models: estimates of cost, and calls to a model with the user's consent."""
