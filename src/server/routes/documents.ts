import { OPERATION_LIST } from '../../core/contract/operations.js';
import { docsPage } from '../docs-page.js';
import { buildOpenApi } from '../openapi.js';
import { pageResponse, toResponse } from '../response.js';
import type { Handlers } from '../route.js';

const description = lazy(() => buildOpenApi(OPERATION_LIST));
const docs = lazy(() => docsPage(OPERATION_LIST));

/** Handlers that describe all operations, their own too. Built on the first request, then cached. */
export const documentHandlers = {
  openapi: async () => toResponse(description()),
  docs: async () => pageResponse(docs(), 'text/html'),
} satisfies Partial<Handlers>;

function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
