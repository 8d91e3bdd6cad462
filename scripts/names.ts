import ts from 'typescript';
import type { SourceFault, SourceText } from './source-files.js';
import { valueNameFaults } from './value-names.js';

/** Retired words, which nobody outside this repository would understand, and what to write instead. */
const RETIRED_WORDS: Readonly<Record<string, string>> = {
  Asked: 'Request',
  Ask: 'RequestContext',
  Chores: 'Maintenance',
  Desk: 'DecisionView',
  Door: 'AppServices, or a specific name',
  Gatekeeper: 'Authenticator',
  Glance: 'StatusProjection',
  House: 'ServerContext, StoreRuntime or TestHarness',
  Onlooker: 'EventVisitor',
  Said: 'a specific name for the parsed input',
  Slot: 'Permit',
  Tangle: 'AliasGuard',
  Told: 'Reply',
  Trouble: 'Problem',
  Unit: 'Transaction',
  Vantage: 'FoldContext',
  Witness: 'Observer',
  asked: 'query, request, or what it holds',
  breathe: 'yieldToEventLoop',
  ctx: 'context',
  desk: 'view',
  fitness: 'preflight',
  glimpse: 'peekHead',
  house: 'harness',
  judge: 'checker',
  ripened: 'dueTimers',
  saidAnew: 'diffConfig',
  scene: 'a descriptive name, such as openSyncScenario',
  site: 'harness',
  stoodOn: 'readSet',
  story: 'log, history or timeline',
  strangerRefused: 'originGuard',
  told: 'reply, event, or a specific name',
};

/** Retired words that no stored or sent record has as a field. They are refused as fields too. */
const RETIRED_FIELDS: ReadonlySet<string> = new Set([
  'asked',
  'ctx',
  'house',
  'judge',
  'scene',
  'site',
  'story',
  'told',
]);

/** Retired words with an ordinary meaning in compounds: a slot of a worker, a unit of measure, `Sec-Fetch-Site`. */
const ORDINARY_IN_COMPOUNDS: ReadonlySet<string> = new Set(['site', 'slot', 'unit']);

/** Verbs that a name may begin with: `askModel`, `AskModel`. */
const VERBS: ReadonlySet<string> = new Set(['ask', 'judge']);

/** Words before a participle: `hasAsked`, `isAskedForChanges`. */
const AUXILIARIES: ReadonlySet<string> = new Set(['has', 'is', 'was']);

const REPLACEMENTS: ReadonlyMap<string, string> = new Map(
  Object.entries(RETIRED_WORDS).map(([word, replacement]) => [word.toLowerCase(), replacement]),
);

/** This file lists the retired words, so it may contain them. */
const THIS_FILE = 'scripts/names.ts';

const CONTRACT_FOLDER = 'src/core/contract/';

/**
 * What is wrong with the names in these files: types with the name of an exported type, values of `src` with the name of
 * another exported value, snake_case, retired words, and schemas of the contract that are not named as their type.
 */
export function nameFaults(sources: readonly SourceText[]): SourceFault[] {
  const parsed = sources.map(({ file, text }) =>
    ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true),
  );
  const exporters = exportersByType(parsed);
  const fileFaults = parsed.flatMap((source) => {
    const file = source.fileName;
    const shorthand = shorthandNames(source);
    const faults: SourceFault[] = [];
    const report = (node: ts.Node, message: string): void => {
      faults.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, message });
    };
    const visit = (node: ts.Node): void => {
      const field = fieldName(node);
      if (field !== null && RETIRED_FIELDS.has(field.text)) {
        const replacement = plainWordFor(field.text, file);
        if (replacement !== undefined) report(field, `${field.text} is a retired name: use ${replacement}`);
      }
      const schema = inferredAlias(node);
      if (schema !== null && file.replaceAll('\\', '/').includes(CONTRACT_FOLDER)) {
        const expected = `${schema.type[0]?.toLowerCase()}${schema.type.slice(1)}`;
        if (schema.constant !== expected)
          report(node, `the schema of ${schema.type} is called ${schema.constant}: call it ${expected}`);
      }
      const name = declaredName(node);
      if (name !== null) {
        const word = name.text.replace(/^#/, '');
        if (isType(node)) {
          const exporter = exporters.get(word);
          if (exporter !== undefined && exporter !== file)
            report(name, `the type ${word} is also exported by ${exporter}`);
        }
        if (isSnakeCase(word) && mustBeCamelCase(node) && !shorthand.has(word)) {
          report(name, `${word} is a local, a parameter or a private field: write it in camelCase`);
        }
        const replacement = plainWordFor(word, file);
        if (replacement !== undefined && (!isRecordField(node) || RETIRED_FIELDS.has(word)))
          report(name, `${word} is a retired name: use ${replacement}`);
        const part = replacement === undefined ? retiredPart(word) : null;
        if (part !== null) report(name, `${word} contains a retired name: use ${REPLACEMENTS.get(part)}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return faults;
  });
  return [...fileFaults, ...valueNameFaults(parsed)];
}

function plainWordFor(word: string, file: string): string | undefined {
  if (!Object.hasOwn(RETIRED_WORDS, word)) return undefined;
  const path = file.replaceAll('\\', '/');
  return path === THIS_FILE ? undefined : RETIRED_WORDS[word];
}

/** The retired word in a compound name, such as `newJudge`, in lower case. Constants in capitals are not split. */
function retiredPart(name: string): string | null {
  if (!/[a-z]/.test(name)) return null;
  const words = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  const parts = words.map((word) => word.toLowerCase());
  const retired = parts.find((part, index) => {
    if (!REPLACEMENTS.has(part) || ORDINARY_IN_COMPOUNDS.has(part)) return false;
    // A first word in lower case, such as `desk` in `deskOf`, is retired only if the list has it in lower case.
    if (index === 0) return !VERBS.has(part) && (words[0] !== part || Object.hasOwn(RETIRED_WORDS, part));
    return !AUXILIARIES.has(parts[index - 1] as string);
  });
  return retired ?? null;
}

/** The two names of `type X = Infer<typeof x>`. */
function inferredAlias(node: ts.Node): { type: string; constant: string } | null {
  if (!ts.isTypeAliasDeclaration(node) || !ts.isTypeReferenceNode(node.type)) return null;
  const [argument, ...others] = node.type.typeArguments ?? [];
  if (argument === undefined || others.length > 0 || !ts.isTypeQueryNode(argument)) return null;
  return { type: node.name.text, constant: argument.exprName.getText() };
}

/** The field that an object literal sets, or that a destructuring renames. */
function fieldName(node: ts.Node): ts.Identifier | null {
  const name = ts.isPropertyAssignment(node)
    ? node.name
    : ts.isBindingElement(node)
      ? node.propertyName
      : undefined;
  return name !== undefined && ts.isIdentifier(name) ? name : null;
}

function declaredName(node: ts.Node): ts.Identifier | ts.PrivateIdentifier | null {
  const { name } = node as { name?: ts.Node };
  if (name === undefined || !isDeclaration(node)) return null;
  return ts.isIdentifier(name) || ts.isPrivateIdentifier(name) ? name : null;
}

const isDeclaration = (node: ts.Node): boolean =>
  ts.isVariableDeclaration(node) ||
  ts.isParameter(node) ||
  ts.isBindingElement(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isPropertyDeclaration(node) ||
  ts.isPropertySignature(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isMethodSignature(node) ||
  ts.isAccessor(node);

const modifiersOf = (node: ts.Node): readonly ts.ModifierLike[] =>
  ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : [];

const hasModifier = (node: ts.Node, kind: ts.SyntaxKind): boolean =>
  modifiersOf(node).some((modifier) => modifier.kind === kind);

const isType = (
  node: ts.Node,
): node is ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.ClassDeclaration =>
  ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node);

/** The first file that exports each type. */
function exportersByType(sources: readonly ts.SourceFile[]): ReadonlyMap<string, string> {
  const exporters = new Map<string, string>();
  for (const { fileName, statements } of sources) {
    for (const node of statements) {
      if (!isType(node) || !hasModifier(node, ts.SyntaxKind.ExportKeyword) || node.name === undefined)
        continue;
      if (!exporters.has(node.name.text)) exporters.set(node.name.text, fileName);
    }
  }
  return exporters;
}

const isSnakeCase = (name: string): boolean => /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name);

/** Fields of stored and sent records are snake_case, and so are the variables destructured from them. */
function mustBeCamelCase(node: ts.Node): boolean {
  if (ts.isBindingElement(node))
    return node.propertyName !== undefined || ts.isArrayBindingPattern(node.parent);
  if (ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node)) return true;
  if (ts.isParameter(node) && modifiersOf(node).length === 0) return true;
  const { name } = node as { name?: ts.Node };
  return (
    name !== undefined && (ts.isPrivateIdentifier(name) || hasModifier(node, ts.SyntaxKind.PrivateKeyword))
  );
}

/** A field of an interface, or a variable destructured from an object, may have the name of a wire field. */
const isRecordField = (node: ts.Node): boolean => ts.isPropertySignature(node) || ts.isBindingElement(node);

/** Names that stand for a record's field where they are used: `{ agent_id }`. */
function shorthandNames(source: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isShorthandPropertyAssignment(node)) names.add(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}
