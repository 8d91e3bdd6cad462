import type { Route } from './route.js';

/** The routes as a static HTML page, without external resources or scripts. */
export function docsPage(routes: readonly Route[]): string {
  const rows = routes.map(
    ({ method, path, summary, action, id }) =>
      `<tr id="${id}"><td><code>${method}</code></td><td><code>${escapeHtml(path)}</code></td>` +
      `<td>${escapeHtml(summary)}</td><td>${action}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Genesis Fleet: HTTP</title>
<link rel="stylesheet" href="/page.css">
<main>
<h1>HTTP</h1>
<p>Fields, codes and schemas are in <a href="/openapi.json">/openapi.json</a>. A refusal comes with the body of its
result; everything else that goes wrong is <code>application/problem+json</code> with a <code>code</code>.</p>
<table>
<thead><tr><th>Method</th><th>Path</th><th>Does</th><th>Needs</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</main>
</html>
`;
}

const escapeHtml = (value: string): string => value.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
