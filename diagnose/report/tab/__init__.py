"""The *Diagnose* tab of TensorBoard."""
