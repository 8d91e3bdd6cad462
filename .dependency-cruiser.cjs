// The layering rule of the house: arrows point one way, and core touches nothing but itself.
const ours = (room) => `^src/${room}/`;
const only = (room, allowed) => ({
  name: `${room}-imports-only-${allowed.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: ours(room), pathNot: ['\\.test\\.ts$', '/testing/', '/conformance'] },
  to: { path: '^(src|sim|bench|test)/', pathNot: [room, ...allowed].map(ours) },
});

module.exports = {
  forbidden: [
    only('core', []),
    only('stores', ['core']),
    only('coordinator', ['stores', 'core']),
    only('workspace', ['coordinator', 'stores', 'core']),
    only('server', ['workspace', 'coordinator', 'stores', 'core']),
    only('cli', ['server', 'client', 'workspace', 'coordinator', 'stores', 'core']),
    {
      name: 'client-imports-wire-types-only',
      comment:
        'who installs the SDK gets no store, no coordinator and no server: it takes their types, and the bytes that are signed',
      severity: 'error',
      from: { path: ours('client'), pathNot: ['\\.test\\.ts$', '/testing/'] },
      to: {
        path: '^src/',
        pathNot: [ours('client'), '^src/core/signing\\.ts$'],
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
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // A package of its own: what it depends on is not installed here.
    exclude: { path: '^bench/http/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
