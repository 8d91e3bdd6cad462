import { z } from 'zod';
import { PAGE_HTML } from '../page/html.js';
import { PAGE_SCRIPT } from '../page/script.js';
import { PAGE_STYLE } from '../page/style.js';
import { pageResponse, problemResponse, textResponse, toResponse } from '../response.js';
import { defineRoute, type RequestContext, type Route } from '../route.js';

const OPENMETRICS = 'text/plain; version=0.0.4; charset=utf-8';
const healthSchema = z.object({ status: z.string() });
const readySchema = z.object({ status: z.string(), damaged_logs: z.int().exactOptional() });

const staticFileRoute = (
  id: string,
  path: string,
  content_type: string,
  summary: string,
  body: string,
): Route =>
  defineRoute({
    id,
    method: 'GET',
    path,
    action: 'public',
    summary,
    reply: { content_type },
    run: async () => pageResponse(body, content_type),
  });

/** Routes about the server itself. */
export const platformRoutes: readonly Route[] = [
  defineRoute({
    id: 'healthz',
    method: 'GET',
    path: '/healthz',
    action: 'public',
    summary: 'The process is alive',
    reply: healthSchema,
    run: async () => toResponse({ status: 'alive' }),
  }),
  defineRoute({
    id: 'readyz',
    method: 'GET',
    path: '/readyz',
    action: 'public',
    summary:
      'The store answers, and the server takes requests; `damaged_logs` counts logs that cannot be read',
    reply: readySchema,
    run: async ({ context }: RequestContext) => {
      const state = await context.readiness.check();
      return typeof state === 'string' ? problemResponse('UNAVAILABLE', state) : toResponse(state);
    },
  }),
  defineRoute({
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    action: 'administer',
    summary: 'The numbers, as Prometheus reads them',
    reply: { content_type: 'text/plain' },
    run: async ({ context }: RequestContext) => textResponse(await context.metrics(), OPENMETRICS),
  }),
  staticFileRoute('page', '/', 'text/html', 'Status and events, live', PAGE_HTML),
  staticFileRoute('page_script', '/page.js', 'text/javascript', 'The script of the page', PAGE_SCRIPT),
  staticFileRoute('page_style', '/page.css', 'text/css', 'The style of the page', PAGE_STYLE),
];
