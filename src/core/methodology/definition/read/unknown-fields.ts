import { isObject } from '../../../events/plain-data.js';
import type { DocumentPath } from '../../../yaml/source-position.js';
import type { YamlFile } from './yaml-file.js';

/** Warns about fields that nothing reads. Without the warning, nobody would notice a misspelt field. */
export function warnUnknownFields(
  file: YamlFile,
  path: DocumentPath,
  known: Iterable<string>,
  consequence = 'It is ignored.',
): void {
  const value = valueAt(file.value, path);
  if (file.isBuiltIn || !isObject(value)) return;
  const names = new Set(known);
  for (const name of Object.keys(value).filter((field) => !names.has(field))) {
    const message = `The field ${JSON.stringify(name)} is not understood; known fields: ${[...names].join(', ')}. ${consequence}`;
    file.warn([...path, name], message);
  }
}

/** The value at a path; undefined if there is none, as in a file whose fields were renamed before parsing. */
function valueAt(root: unknown, path: DocumentPath): unknown {
  let value = root;
  for (const step of path) {
    const isInside = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
    value = isInside ? (value as Record<string | number, unknown>)[step] : undefined;
  }
  return value;
}
