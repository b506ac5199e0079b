"""How efficient a language is: its complexity and its accuracy, beside the best that its meanings allow.

`information`: complexity, accuracy, the distance of two languages. `bound`: the information-bottleneck bound of a
space. `kept_bounds`: bounds that took minutes, on disk. `rate_distortion`: the same for any cost of a wrong guess.
"""
