// The layers: imports point one way, and core imports nothing but itself.
const ours = (layer) => `^src/${layer}/`;
const only = (layer, allowed) => ({
  name: `${layer}-imports-only-${allowed.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: ours(layer), pathNot: ['\\.test\\.ts$', '/testing/', '/conformance'] },
  to: { path: '^(src|sim|bench|test)/', pathNot: [layer, ...allowed].map(ours) },
});

// Within the methodology: what a project defines, how far its features are, which edge comes next, what is shown.
const METHODOLOGY_ORDER = ['definition', 'progress', 'routing', 'views'];
const methodologyOrder = METHODOLOGY_ORDER.map((folder, at) => ({
  name: `methodology-${folder}-imports-no-later-folder`,
  severity: 'error',
  from: { path: `^src/core/methodology/${folder}/`, pathNot: ['\\.test\\.ts$'] },
  to: { path: METHODOLOGY_ORDER.slice(at + 1).map((later) => `^src/core/methodology/${later}/`) },
})).slice(0, -1);

module.exports = {
  forbidden: [
    only('core', []),
    only('stores', ['core']),
    only('coordinator', ['stores', 'core']),
    only('workspace', ['coordinator', 'stores', 'core']),
    only('engine', ['coordinator', 'stores', 'core']),
    only('server', ['client', 'engine', 'workspace', 'coordinator', 'stores', 'core']),
    only('cli', ['server', 'client', 'engine', 'workspace', 'coordinator', 'stores', 'core']),
    {
      name: 'client-imports-wire-types-only',
      comment:
        'who installs the SDK gets no store, no coordinator and no server: it takes their types, and the bytes that are signed',
      severity: 'error',
      from: { path: ours('client'), pathNot: ['\\.test\\.ts$', '/testing/'] },
      to: {
        path: '^src/',
        pathNot: [
          ours('client'),
          '^src/core/(signing|subject|without-undefined)\\.ts$',
          '^src/core/contract/codes\\.ts$',
          '^src/core/methodology/definition/convergence\\.ts$',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'core-is-pure',
      comment:
        'core reads no clock, makes no id, does no I/O: no node:*, and no library but schemas and YAML',
      severity: 'error',
      from: { path: ours('core'), pathNot: ['\\.test\\.ts$', '/testing/'] },
      to: { pathNot: ['^src/', '^node_modules/(zod|yaml)/'] },
    },
    ...methodologyOrder,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // A package whose dependencies are not installed here, and the built page.
    exclude: { path: ['^bench/http/', '^src/server/page/assets/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
