import { PAGE_HTML, PAGE_SCRIPT, PAGE_STYLE } from '../page/files.js';
import { pageResponse, problemResponse, textResponse, toResponse } from '../response.js';
import type { Handlers } from '../route.js';

const OPENMETRICS = 'text/plain; version=0.0.4; charset=utf-8';

/** Handlers about the server itself. */
export const platformHandlers = {
  healthz: async () => toResponse({ status: 'alive' }),

  readyz: async ({ context }) => {
    const state = await context.readiness.check();
    return typeof state === 'string' ? problemResponse('UNAVAILABLE', state) : toResponse(state);
  },

  metrics: async ({ context }) => textResponse(await context.metrics(), OPENMETRICS),

  page: async () => pageResponse(PAGE_HTML, 'text/html'),
  page_script: async () => pageResponse(PAGE_SCRIPT, 'text/javascript'),
  page_style: async () => pageResponse(PAGE_STYLE, 'text/css'),
} satisfies Partial<Handlers>;
