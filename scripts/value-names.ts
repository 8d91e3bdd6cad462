import ts from 'typescript';
import type { SourceFault } from './source-files.js';

/** Names that several files may export, and why. */
const SHARED_NAMES: readonly { readonly names: ReadonlySet<string>; readonly files: RegExp }[] = [
  {
    // Each store has these functions in its own folder, and no file imports them from two stores.
    names: new Set([
      'classifyError',
      'FOREVER_MS',
      'migrationSteps',
      'OUTCOME_CODE',
      'readEvents',
      'runPreflight',
      'SCHEMA_VERSION',
      'schemaVersion',
      'sql',
      'toOpeningError',
      'toStoreError',
    ]),
    files: /^src\/stores\//,
  },
  {
    // Public names: the problems of the client and of the embedded coordinator have different types. Users import one.
    names: new Set(['isProblem']),
    files: /^src\/(client\/replies|coordinator\/wire\/problem)\.ts$/,
  },
];

/** Test support may share short names of fixtures, such as KEY, because a test imports those of one harness only. */
const TEST_FILE = /\.test\.ts$|\/testing(\/|\.ts$)/;

/** Returns a fault for each exported value of `src` with the name of a value that another file exports. */
export function valueNameFaults(sources: readonly ts.SourceFile[]): SourceFault[] {
  const exporters = new Map<string, string>();
  const faults: SourceFault[] = [];
  for (const source of sources) {
    const file = source.fileName.replaceAll('\\', '/');
    if (!file.startsWith('src/') || TEST_FILE.test(file)) continue;
    for (const name of exportedValues(source)) {
      const exporter = exporters.get(name.text) ?? file;
      exporters.set(name.text, exporter);
      if (exporter === file || isShared(name.text, [exporter, file])) continue;
      const { line } = source.getLineAndCharacterOfPosition(name.getStart());
      faults.push({
        file,
        line: line + 1,
        message: `the value ${name.text} is also exported by ${exporter}`,
      });
    }
  }
  return faults;
}

const isShared = (name: string, exporters: readonly string[]): boolean =>
  SHARED_NAMES.some(({ names, files }) => names.has(name) && exporters.every((file) => files.test(file)));

function exportedValues(source: ts.SourceFile): ts.Identifier[] {
  return source.statements.filter(isExported).flatMap((node) => {
    if (ts.isVariableStatement(node))
      return node.declarationList.declarations.flatMap(({ name }) => identifiersIn(name));
    const isNamed =
      ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isEnumDeclaration(node);
    return isNamed && node.name !== undefined ? [node.name] : [];
  });
}

const isExported = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) &&
  (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

/** The names that a declaration introduces: several if it destructures. */
function identifiersIn(name: ts.BindingName): ts.Identifier[] {
  if (ts.isIdentifier(name)) return [name];
  return name.elements.flatMap((element) =>
    ts.isBindingElement(element) ? identifiersIn(element.name) : [],
  );
}
