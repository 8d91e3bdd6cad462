import { z } from 'zod';
import { answer, page } from '../answer.js';
import { docsPage } from '../docs-page.js';
import { openApiOf } from '../openapi.js';
import { type Route, route } from '../route.js';

/** What describes the whole table, itself included. Made with the first question, and kept. */
export function documentRoutes(table: () => readonly Route[]): readonly Route[] {
  const description = once(() => openApiOf(table()));
  const docs = once(() => docsPage(table()));
  return [
    route({
      id: 'openapi',
      method: 'GET',
      path: '/openapi.json',
      action: 'public',
      summary: 'This description, as OpenAPI 3.1',
      reply: z.record(z.string(), z.unknown()),
      run: async () => answer(description()),
    }),
    route({
      id: 'docs',
      method: 'GET',
      path: '/docs',
      action: 'public',
      summary: 'This description, for people',
      reply: { content_type: 'text/html' },
      run: async () => page(docs(), 'text/html'),
    }),
  ];
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
