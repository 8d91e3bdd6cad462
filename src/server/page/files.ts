import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

const readAsset = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** The style of the pages that need no script. */
export const PAGE_STYLE = readAsset('./page.css');

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
};

export interface PageAsset {
  readonly content: string;
  /** The content, compressed by the build. */
  readonly gzip: Uint8Array;
  readonly content_type: string;
}

/** The files of the page that `npm run build:page` made, read once. Empty in a clone where that script has not run. */
export const PAGE_ASSETS: ReadonlyMap<string, PageAsset> = new Map(
  assetNames().map((name) => [
    name,
    {
      content: readAsset(`./assets/${name}`),
      gzip: readFileSync(new URL(`./assets/${name}.gz`, import.meta.url)),
      content_type: CONTENT_TYPES[extname(name)] as string,
    },
  ]),
);

function assetNames(): string[] {
  try {
    const names = readdirSync(new URL('./assets/', import.meta.url));
    return names.filter((name) => extname(name) in CONTENT_TYPES && names.includes(`${name}.gz`));
  } catch {
    return [];
  }
}

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Genesis Fleet</title>
<link rel="stylesheet" href="/page.css"><h1>The page is not built</h1>
<p>Build it and start the server again: <code>npm install && npm run build:page</code></p></html>`;

export const PAGE_HTML = PAGE_ASSETS.get('index.html')?.content ?? NOT_BUILT;
/** The API reference. */
export const DOCS_HTML = PAGE_ASSETS.get('docs.html')?.content ?? NOT_BUILT;
