// The layers: imports point one way, and core imports nothing but itself.
const ours = (layer) => `^src/${layer}/`;
const only = (layer, allowed) => ({
  name: `${layer}-imports-only-${allowed.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: ours(layer), pathNot: ['\\.test\\.ts$', '/testing/', '/conformance'] },
  to: { path: '^(src|sim|bench|test)/', pathNot: [layer, ...allowed].map(ours) },
});

// The folders of the methodology, in layers: what a project defines, how far its features are, which edge comes next, views.
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
        'a program with the SDK loads no store, coordinator or server: the SDK imports their types, and a few pure modules of core',
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
        'core reads no clock, generates no id and does no I/O: it imports no node:* module, and no library but zod and yaml',
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
    // bench/http is a package whose dependencies are not installed here; the assets are the built page.
    exclude: { path: ['^bench/http/', '^src/server/page/assets/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
