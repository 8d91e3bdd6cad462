import { readFileSync } from 'node:fs';

/** Files that the server sends; read once. */
export const PAGE_HTML = readFileSync(new URL('./page.html', import.meta.url), 'utf8');
export const PAGE_SCRIPT = readFileSync(new URL('./page.js', import.meta.url), 'utf8');
export const PAGE_STYLE = readFileSync(new URL('./page.css', import.meta.url), 'utf8');
export const DOCS_HTML = readFileSync(new URL('./docs.html', import.meta.url), 'utf8');
