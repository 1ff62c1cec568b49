"""The whole map: a day's private questions, the state that releases leave, and the published estimates."""
