import type { IdentifiedOperation } from '../core/contract/operation.js';
import { DOCS_HTML } from './page/files.js';

/** The operations as a static HTML page, without external resources or scripts. */
export function docsPage(operations: readonly IdentifiedOperation[]): string {
  const rows = operations.map(
    ({ method, path, summary, action, id }) =>
      `<tr id="${id}"><td><code>${method}</code></td><td><code>${escapeHtml(path)}</code></td>` +
      `<td>${escapeHtml(summary)}</td><td>${action}</td></tr>`,
  );
  return DOCS_HTML.replace('<!-- routes -->', () => rows.join('\n'));
}

const escapeHtml = (value: string): string => value.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
