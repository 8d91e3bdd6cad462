import { OPERATION_LIST } from '../../core/contract/operations.js';
import { buildOpenApi } from '../openapi.js';
import { DOCS_HTML, PAGE_ASSETS, PAGE_HTML, PAGE_STYLE } from '../page/files.js';
import {
  assetResponse,
  pageResponse,
  problemResponse,
  referenceResponse,
  textResponse,
  toResponse,
} from '../response.js';
import type { Handlers } from '../route.js';

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

/** Describes all operations. Built on the first request, then cached. */
let openApi: object | undefined;

/** Handlers about the server itself. */
export const platformHandlers = {
  healthz: async () => toResponse({ status: 'alive' }),

  readyz: async ({ context }) => {
    const state = await context.readiness();
    return typeof state === 'string' ? problemResponse('UNAVAILABLE', state) : toResponse(state);
  },

  metrics: async ({ context }) => textResponse(await context.metrics(), PROMETHEUS_TEXT),

  page: async () => pageResponse(PAGE_HTML, 'text/html'),
  page_asset: async ({ params, connection }) => {
    const asset = PAGE_ASSETS.get(params.name ?? '');
    if (asset === undefined) return problemResponse('NOT_FOUND', 'The page has no such file. Reload it.');
    return assetResponse(asset, connection.header('accept-encoding'));
  },
  page_style: async () => pageResponse(PAGE_STYLE, 'text/css'),

  openapi: async () => {
    openApi ??= buildOpenApi(OPERATION_LIST);
    return toResponse(openApi);
  },
  docs: async () => referenceResponse(DOCS_HTML),
} satisfies Partial<Handlers>;
