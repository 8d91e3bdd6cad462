import { z } from 'zod';
import { answer, page, problemAnswer, text } from '../answer.js';
import { PAGE_HTML } from '../page/html.js';
import { PAGE_SCRIPT } from '../page/script.js';
import { PAGE_STYLE } from '../page/style.js';
import { type Ask, type Route, route } from '../route.js';

const OPENMETRICS = 'text/plain; version=0.0.4; charset=utf-8';
const health = z.object({ status: z.string() });
const ready = z.object({ status: z.string(), damaged_logs: z.int().exactOptional() });

const file = (id: string, path: string, content_type: string, summary: string, body: string): Route =>
  route({
    id,
    method: 'GET',
    path,
    action: 'public',
    summary,
    reply: { content_type },
    run: async () => page(body, content_type),
  });

/** What is about the server and not about anybody's work. */
export const platformRoutes: readonly Route[] = [
  route({
    id: 'healthz',
    method: 'GET',
    path: '/healthz',
    action: 'public',
    summary: 'The process is alive',
    reply: health,
    run: async () => answer({ status: 'alive' }),
  }),
  route({
    id: 'readyz',
    method: 'GET',
    path: '/readyz',
    action: 'public',
    summary:
      'The store answers, and the server takes requests; `damaged_logs` counts logs that cannot be read',
    reply: ready,
    run: async ({ house }: Ask) => {
      const state = await house.readiness.check();
      return typeof state === 'string' ? problemAnswer('UNAVAILABLE', state) : answer(state);
    },
  }),
  route({
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    action: 'administer',
    summary: 'The numbers, as Prometheus reads them',
    reply: { content_type: 'text/plain' },
    run: async ({ house }: Ask) => text(await house.metrics(), OPENMETRICS),
  }),
  file('page', '/', 'text/html', 'Status and events, live', PAGE_HTML),
  file('page_script', '/page.js', 'text/javascript', 'The script of the page', PAGE_SCRIPT),
  file('page_style', '/page.css', 'text/css', 'The style of the page', PAGE_STYLE),
];
