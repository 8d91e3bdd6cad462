import ts from 'typescript';
import type { Mutant } from './mutant.js';

const { SyntaxKind } = ts;
const SWAPPED_OPERATORS = new Map<ts.SyntaxKind, string>([
  [SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [SyntaxKind.LessThanToken, '<='],
  [SyntaxKind.LessThanEqualsToken, '<'],
  [SyntaxKind.GreaterThanToken, '>='],
  [SyntaxKind.GreaterThanEqualsToken, '>'],
  [SyntaxKind.AmpersandAmpersandToken, '||'],
  [SyntaxKind.BarBarToken, '&&'],
  [SyntaxKind.PlusToken, '-'],
  [SyntaxKind.MinusToken, '+'],
]);
const SHOWN_CHARS_MAX = 90;

/**
 * All mutants of a file, in the order of the text: an operator swapped or removed, a constant changed, a returned boolean
 * negated. One place may give several.
 */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const visit = (node: ts.Node): void => {
    if (isWithoutCode(node)) return;
    for (const { node: changed, mutated } of changesAt(node))
      mutants.push(mutantAt(source, changed, mutated));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mutants;
}

/** Whether a node leaves no code at run time, as types and imports do. */
const isWithoutCode = (node: ts.Node): boolean =>
  ts.isTypeNode(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isImportDeclaration(node) ||
  ts.isExportDeclaration(node);

interface Change {
  readonly node: ts.Node;
  /** The text that replaces the whole node. */
  readonly mutated: string;
}

function* changesAt(node: ts.Node): Generator<Change> {
  if (ts.isBinaryExpression(node)) yield* changesOfBinary(node);
  if (ts.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken)
    yield { node, mutated: node.operand.getText() };
  if (node.kind === SyntaxKind.TrueKeyword) yield { node, mutated: 'false' };
  if (node.kind === SyntaxKind.FalseKeyword) yield { node, mutated: 'true' };
  if (ts.isNumericLiteral(node) && !ts.isPropertyAssignment(node.parent)) yield* neighboursOf(node);
  if (ts.isPropertyAssignment(node) && ts.isNumericLiteral(node.initializer))
    yield* neighboursOf(node.initializer);
  const value = returnedBoolean(node);
  if (value !== null) yield { node: value, mutated: `!(${value.getText()})` };
}

function* changesOfBinary(node: ts.BinaryExpression): Generator<Change> {
  const { operatorToken, right } = node;
  if (operatorToken.kind === SyntaxKind.QuestionQuestionToken)
    yield { node, mutated: `(${right.getText()})` };
  const swapped = SWAPPED_OPERATORS.get(operatorToken.kind);
  if (swapped === undefined || isConcatenation(node)) return;
  const text = node.getText();
  const at = operatorToken.getStart() - node.getStart();
  const after = at + operatorToken.getText().length;
  yield { node, mutated: text.slice(0, at) + swapped + text.slice(after) };
}

function* neighboursOf(literal: ts.NumericLiteral): Generator<Change> {
  for (const step of [1, -1]) yield { node: literal, mutated: String(Number(literal.text) + step) };
}

/** Whether the `+` joins texts; turned into `-`, it would only give NaN. */
const isConcatenation = ({ left, operatorToken, right }: ts.BinaryExpression): boolean =>
  operatorToken.kind === SyntaxKind.PlusToken && (isText(left) || isText(right));

const isText = (node: ts.Expression): boolean =>
  ts.isStringLiteralLike(node) ||
  ts.isTemplateExpression(node) ||
  (ts.isBinaryExpression(node) && isConcatenation(node));

/** The value that a function of type boolean returns here, if negating it differs from the other changes. */
function returnedBoolean(node: ts.Node): ts.Expression | null {
  const value = ts.isReturnStatement(node)
    ? node.expression
    : ts.isArrowFunction(node) && !ts.isBlock(node.body)
      ? node.body
      : undefined;
  if (value === undefined || isFlippedAnyway(value)) return null;
  const owner = ts.isArrowFunction(node) ? node : ts.findAncestor(node, ts.isFunctionLike);
  const type = owner?.type;
  if (type === undefined) return null;
  return type.kind === SyntaxKind.BooleanKeyword || ts.isTypePredicateNode(type) ? value : null;
}

const isFlippedAnyway = (value: ts.Expression): boolean =>
  value.kind === SyntaxKind.TrueKeyword ||
  value.kind === SyntaxKind.FalseKeyword ||
  ts.isPrefixUnaryExpression(value) ||
  (ts.isBinaryExpression(value) &&
    (value.operatorToken.kind === SyntaxKind.EqualsEqualsEqualsToken ||
      value.operatorToken.kind === SyntaxKind.ExclamationEqualsEqualsToken));

function mutantAt(source: ts.SourceFile, node: ts.Node, mutated: string): Mutant {
  const { fileName: file, text } = source;
  const [start, end] = [node.getStart(), node.getEnd()];
  const [from, to] = uniqueWindow(text, start, end);
  return {
    name: `${file}:${source.getLineAndCharacterOfPosition(start).line + 1}`,
    file,
    find: text.slice(from, to),
    replace: text.slice(from, start) + mutated + text.slice(end, to),
    harm: `${oneLine(text.slice(start, end))}  →  ${oneLine(mutated)}`,
  };
}

/** Whole lines around the change, as many as it takes for their text to occur once in the file. */
function uniqueWindow(text: string, start: number, end: number): [from: number, to: number] {
  let from = text.lastIndexOf('\n', start - 1) + 1;
  let to = lineEnd(text, end);
  while (text.indexOf(text.slice(from, to)) !== text.lastIndexOf(text.slice(from, to))) {
    from = from === 0 ? 0 : text.lastIndexOf('\n', from - 2) + 1;
    to = lineEnd(text, Math.min(to + 1, text.length));
  }
  return [from, to];
}

const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > SHOWN_CHARS_MAX ? `${line.slice(0, SHOWN_CHARS_MAX)}…` : line;
}
