import { z } from 'zod';
import { auditOperations } from './audit.js';
import { claimOperations } from './claims.js';
import { eventOperations } from './events.js';
import { keyOperations } from './keys.js';
import { methodologyOperations } from './methodology.js';
import { methodologyViewOperations } from './methodology-views.js';
import { type ApiOperations, type IdentifiedOperation, jsonBody, type ReplySchema } from './operation.js';
import { overviewOperations } from './overview.js';
import { planOperations } from './plan.js';
import { reviewLinkForm } from './reviews.js';
import { runnerOperations } from './runners.js';
import { runOperations } from './runs.js';
import { sessionOperations } from './sessions.js';
import { settingsOperations } from './settings.js';
import { taskOperations } from './tasks.js';
import { whoamiOperations } from './whoami.js';

const mcp = {
  method: 'POST',
  action: 'read',
  body: jsonBody(z.unknown()),
  reply: { content_type: 'application/json' },
} as const;

/** A call that needs no credential. */
const publicOperation = <Reply extends ReplySchema>(path: string, summary: string, reply: Reply) =>
  ({ method: 'GET', path, action: 'public', summary, reply }) as const;

/** Operations that concern the server itself. */
const platformOperations = {
  healthz: publicOperation('/healthz', 'Liveness: the process is running', z.object({ status: z.string() })),
  readyz: publicOperation(
    '/readyz',
    'Readiness: the store responds and the server accepts requests; `damaged_logs` counts unreadable logs, `audit_alarms` counts logs whose checkpoints contradict each other, are not valid or cannot be signed',
    z.object({
      status: z.string(),
      damaged_logs: z.int().exactOptional(),
      audit_alarms: z.int().exactOptional(),
    }),
  ),
  metrics: {
    method: 'GET',
    path: '/metrics',
    action: 'administer',
    summary: 'Metrics in Prometheus text format',
    reply: { content_type: 'text/plain' },
  },
  review_link: {
    ...publicOperation(
      '/reviews/link',
      'Web page of a candidate, for the holder of a signed link; decides nothing',
      {
        content_type: 'text/html',
      },
    ),
    query: z.object({ token: z.string().exactOptional() }),
    hasOwnToken: true,
  },
  decide_review_link: {
    method: 'POST',
    path: '/reviews/link',
    action: 'public',
    summary: 'Decide on the candidate of a signed link, once, with the form of its web page',
    body: { kind: 'form', schema: reviewLinkForm },
    reply: { content_type: 'text/html' },
    hasOwnToken: true,
  },
  page: publicOperation('/', 'Web page with live status and events', { content_type: 'text/html' }),
  page_asset: publicOperation('/assets/{name}', 'Script or style sheet of the web page', {
    content_type: 'text/javascript',
  }),
  page_style: publicOperation('/page.css', 'Style sheet of the pages without scripts', {
    content_type: 'text/css',
  }),
  mcp: { ...mcp, path: '/mcp', tenant: 'own', summary: 'Model Context Protocol' },
  mcp_project: {
    ...mcp,
    path: '/mcp/{tenant_id}/{project_id}',
    summary: 'Model Context Protocol, for clients that can set a URL but no headers',
  },
  openapi: publicOperation(
    '/openapi.json',
    'This API description, as OpenAPI 3.1',
    z.record(z.string(), z.unknown()),
  ),
  docs: publicOperation('/docs', 'API reference as a web page, with requests to try', {
    content_type: 'text/html',
  }),
} as const satisfies ApiOperations;

/** All operations by id. The handlers, the API description, the reference and the contract tests are made from this table. */
export const OPERATIONS = {
  ...claimOperations,
  ...taskOperations,
  ...planOperations,
  ...sessionOperations,
  ...settingsOperations,
  ...overviewOperations,
  ...whoamiOperations,
  ...keyOperations,
  ...runnerOperations,
  ...eventOperations,
  ...auditOperations,
  ...methodologyOperations,
  ...methodologyViewOperations,
  ...runOperations,
  ...platformOperations,
} as const satisfies ApiOperations;

export type OperationId = keyof typeof OPERATIONS;

export const OPERATION_LIST: readonly (IdentifiedOperation & { readonly id: OperationId })[] = Object.entries(
  OPERATIONS,
).map(([id, operation]) => ({ id: id as OperationId, ...operation }));
