"""Your work, from the parts to the whole, in this order.

`layers`, `attention`, `transformer` and `loss` make the model and say how wrong it is;
`optimizer`, `schedule`, `data` and `checkpoint` train it; `tokenizer` and `tokenizer_training` turn
text into token ids. The adapters in `adapters.py` hand over to them. Add modules, classes and
functions as you like: a model is best written as `torch.nn.Module`s that load the weights that they
are given.
"""
