import { z } from 'zod';
import { docsPage } from '../docs-page.js';
import { buildOpenApi } from '../openapi.js';
import { pageResponse, toResponse } from '../response.js';
import { defineRoute, type Route } from '../route.js';

/** Routes that describe all routes, including themselves. Built on the first request, then cached. */
export function documentRoutes(routes: () => readonly Route[]): readonly Route[] {
  const description = lazy(() => buildOpenApi(routes()));
  const docs = lazy(() => docsPage(routes()));
  return [
    defineRoute({
      id: 'openapi',
      method: 'GET',
      path: '/openapi.json',
      action: 'public',
      summary: 'This description, as OpenAPI 3.1',
      reply: z.record(z.string(), z.unknown()),
      run: async () => toResponse(description()),
    }),
    defineRoute({
      id: 'docs',
      method: 'GET',
      path: '/docs',
      action: 'public',
      summary: 'This description, for people',
      reply: { content_type: 'text/html' },
      run: async () => pageResponse(docs(), 'text/html'),
    }),
  ];
}

function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
