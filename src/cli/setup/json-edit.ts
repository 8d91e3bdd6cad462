import { type JsonChild, type JsonNode, parseJsonNodes } from './parse-json-nodes.js';

/** Names of members from the root to a value. */
export type JsonPath = readonly string[];

/** The node at a path; null if there is none. */
export function nodeAt(text: string, path: JsonPath): JsonNode | null {
  let node: JsonNode | undefined = parseJsonNodes(text);
  for (const name of path) node = node?.children?.findLast((child) => child.name === name)?.node;
  return node ?? null;
}

/** The text with a member added to the object at a path, or an item to the list there. All else stays as it is. */
export function addChild(text: string, path: JsonPath, name: string | null, value: unknown): string {
  const container = nodeAt(text, path);
  if (container?.children == null) throw new Error(`There is no container at ${path.join('.')}.`);
  const indentUnit = /^[ \t]+/m.exec(text)?.[0] ?? '  ';
  const indent = indentUnit.repeat(path.length + 1);
  const label = name === null ? '' : `${JSON.stringify(name)}: `;
  const added = `${label}${JSON.stringify(value, null, indentUnit).replaceAll('\n', `\n${indent}`)}`;
  const close = container.end - 1;
  const last = container.children.at(-1);
  // Insert before the white space of the closing bracket, so that comments after the last child stay where they are.
  const before = text.slice(0, close).trimEnd();
  const space = text.slice(before.length, close);
  const ending = space.includes('\n') ? space : `\n${indentUnit.repeat(path.length)}`;
  const separated =
    last === undefined || last.comma !== null
      ? before
      : `${before.slice(0, last.node.end)},${before.slice(last.node.end)}`;
  // Keep the style of a container that has a comma after its last child.
  const trailing = last !== undefined && last.comma !== null ? ',' : '';
  return `${separated}\n${indent}${added}${trailing}${ending}${text.slice(close)}`;
}

/** The text without the matching children of the container at a path. Containers that become empty are removed too. */
export function removeChildren(
  text: string,
  path: JsonPath,
  isRemoved: (child: JsonChild) => boolean,
): string {
  const children = nodeAt(text, path)?.children ?? [];
  const index = children.findIndex(isRemoved);
  if (index === -1) return text;
  const shortened = removeAt(text, children, index);
  const container = nodeAt(shortened, path);
  const isEmptied =
    container !== null && shortened.slice(container.start + 1, container.end - 1).trim() === '';
  const [name, outer] = [path.at(-1), path.slice(0, -1)];
  if (isEmptied && name !== undefined)
    return removeChildren(shortened, outer, (child) => child.name === name);
  return removeChildren(shortened, path, isRemoved);
}

function removeAt(text: string, children: readonly JsonChild[], index: number): string {
  const child = children[index] as JsonChild;
  const previous = children[index - 1];
  // If a last child without a comma is removed, the comma before it must be removed too.
  const comma = child.comma ?? previous?.comma ?? null;
  const lineStart = text.slice(0, child.start).trimEnd().length;
  const from = text.slice(lineStart, child.start).includes('\n') ? lineStart : child.start;
  const cut = [[from, child.node.end] as const, ...(comma === null ? [] : [[comma, comma + 1] as const])];
  return cut
    .sort(([left], [right]) => right - left)
    .reduce((remaining, [start, end]) => remaining.slice(0, start) + remaining.slice(end), text);
}
