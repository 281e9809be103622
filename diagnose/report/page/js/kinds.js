// What kind of work an event is, by its name: of a host operator (`aten::mm`), of a kernel, or of a call of the driver.

const KINDS = [ // the first that fits; at most seven, as many as can be told apart
  ['communication', 'communication', /nccl|rccl|c10d|gloo|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|SendRecv/i],
  ['update', 'loss and optimizer', /^optimizer|multi_tensor|_foreach_|_fused_\w*(adam|sgd)|ApplyAdam|zero_grad|cross_entropy|nll|loss/i],
  ['norm', 'normalisation and softmax', /norm(?!al)|softmax|\bbn_/i],
  ['matmul', 'matrix multiplication and convolution',
    /gemm|gemv|nvjet|cutlass|cublas|cudnn|miopen|xmma|Cijk_|conv(?!ert)|winograd|matmul|mm(Backward|_|\b)|linear|einsum|attention|flash|fmha|lstm|\bgru/i],
  ['copy', 'copies', /memcpy|copy|clone|contiguous|CatArray|aten::_?(to|cat|stack)$|^\.(cpu|cuda|to|numpy|tolist|item)\(/i],
  ['memory', 'memory', /memset|malloc|^(cuda|hip|cu)(Free|Host|Mem)|aten::(empty|zeros|zero_|ones|full|fill_|resize|new_)|FillFunctor/i],
  ['elementwise', 'element-wise and other operators', /^aten::|at::native|elementwise|triton|Functor|Backward\d*$|(?<!Launch)Kernel/i],
];

// The position in KINDS; -1 of what is none of them: ranges, calls, Python.
const kindOf = (name) => KINDS.findIndex(([, , pattern]) => pattern.test(name));

const legendEntry = (name, title, swatch = 'swatch') => make('li', { class: name }, make('i', { class: swatch }), title);

// The legend's entries of those kinds that occur; `found` are positions in KINDS.
function kindEntries(found) {
  const present = new Set(found);
  return KINDS.filter((_, index) => present.has(index)).map(([kind, title]) => legendEntry(`kind kind-${kind}`, title));
}

// Marks each operator of a table with the colour of its kind, and says above it what the colours are.
function colourOperators(table) {
  const cells = [...table.tBodies[0].rows].map((row) => row.cells[0]), found = cells.map((cell) => kindOf(cell.textContent));
  cells.forEach((cell, index) => cell.prepend(make('i', { class: `swatch kind kind-${KINDS[found[index]]?.[0] ?? 'none'}` })));
  table.closest('.scroll').before(make('ul', { class: 'legend', 'aria-label': 'Colours of operators' }, ...kindEntries(found)));
}
