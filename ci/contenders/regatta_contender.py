import json, os
_f = None
def send(**k):
    global _f
    if _f is None: _f = os.fdopen(int(os.environ["REGATTA_PIPE"]), "w", buffering=1)
    _f.write(json.dumps(k)+"\n")
def proof(**k): send(event="proof", **k)
def ready(framework=None, notes=None, **v): send(event="ready", framework=framework, versions=v, notes=notes)
def step(examples, loss=None): send(event="step", examples=examples)
def done(): send(event="done")
class evaluation:
    metric=None
    def __enter__(self): send(event="evaluate_begin"); return self
    def __exit__(self,*a): send(event="evaluate", metric=self.metric)
