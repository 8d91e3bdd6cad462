import { z } from 'zod';
import type { Caller } from '../../coordinator/authentication/caller.js';
import { JsonText } from '../../coordinator/documents/json-text.js';
import type { MethodologyService } from '../../coordinator/methodology/service.js';
import * as wire from '../../coordinator/methodology/wire.js';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import { configureBody } from '../../coordinator/wire/index.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import { projectIdSchema } from '../../core/ids.js';
import { ALL_FILES_LENGTH_MAX } from '../../core/methodology/definition/read/file-kinds.js';
import type { ProjectKey } from '../../stores/store.js';
import type { Action } from '../auth/principal.js';
import { type HttpResponse, toResponse } from '../response.js';
import { defineRoute, type ReplySchema, type RequestContext, type Route } from '../route.js';
import * as schemas from '../schemas/methodology.js';
import * as shown from '../schemas/methodology-views.js';
import { gateResult } from '../schemas/work.js';

const projectField = { project_id: projectIdSchema };

/** Splits off the body's project. The rest stays as sent, so that the coordinator validates all of it. */
function splitProject(body: unknown): { project_id: string; asked: object } | Problem {
  const read = parseBody(z.object(projectField), body);
  if (isProblem(read)) return read;
  const { project_id: _, ...asked } = body as { project_id: unknown };
  return { ...read, asked };
}

type MethodologyCall = (
  service: MethodologyService,
  scope: ProjectKey,
  body: unknown,
  caller: Caller,
) => Promise<object>;

interface MethodologyCommand {
  readonly id: string;
  readonly path: string;
  readonly action: Action;
  readonly summary: string;
  /** The fields beside `project_id`, validated by the coordinator. */
  readonly body: z.ZodObject;
  readonly reply: ReplySchema;
  /** The rules may refuse it. */
  readonly isRefusable?: true;
  readonly call: MethodologyCall;
}

/** A route whose body names the project; the tenant is the credential's. */
const commandRoute = ({ body, call, ...definition }: MethodologyCommand): Route =>
  defineRoute({
    ...definition,
    method: 'POST',
    tenant: 'own',
    body: { kind: 'json', schema: z.strictObject({ ...projectField, ...body.shape }) },
    run: async ({ context, tenant_id, body: requestBody, caller }: RequestContext): Promise<HttpResponse> => {
      const read = splitProject(requestBody);
      if (isProblem(read)) return toResponse(read);
      const { project_id, asked } = read;
      return toResponse(
        await call(context.coordinator.methodology, { tenant_id, project_id }, asked, caller),
      );
    },
  });

interface MethodologyView {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly query: z.ZodObject;
  readonly reply: ReplySchema;
  readonly call: (service: MethodologyService, scope: ProjectKey, asked: unknown) => Promise<object>;
}

const viewRoute = ({ query, call, ...definition }: MethodologyView): Route =>
  defineRoute({
    ...definition,
    method: 'GET',
    tenant: 'own',
    action: 'read',
    query: z.strictObject({ ...projectField, ...query.shape }),
    run: async ({ context, tenant_id, query: requestQuery }: RequestContext<Record<string, unknown>>) => {
      const { project_id, ...viewQuery } = requestQuery as { project_id: string };
      return toResponse(await call(context.coordinator.methodology, { tenant_id, project_id }, viewQuery));
    },
  });

const commandRoutes: readonly Route[] = [
  commandRoute({
    id: 'start',
    path: '/api/start',
    action: 'read',
    summary: 'Where to go next, and why; writes nothing, and only a claim decides',
    body: wire.startBody,
    reply: schemas.startReply,
    call: (service, scope, body) => service.start(scope, body),
  }),
  commandRoute({
    id: 'spawn',
    path: '/api/spawn',
    action: 'work',
    summary: 'Make a question, a risk or an incident work of its own; the edge that is named waits for it',
    body: wire.spawnBody,
    reply: schemas.spawnReply,
    isRefusable: true,
    call: (service, scope, body, caller) => service.spawn(scope, body, caller),
  }),
  commandRoute({
    id: 'fold_back',
    path: '/api/spawn/fold_back',
    action: 'work',
    summary: 'Give what a spawn found out back to its parent, once',
    body: wire.foldBackBody,
    reply: schemas.foldBackReply,
    isRefusable: true,
    call: (service, scope, body, caller) => service.foldBack(scope, body, caller),
  }),
  commandRoute({
    id: 'checkpoint',
    path: '/api/checkpoint',
    action: 'work',
    summary: 'Mark a position of the log; the reply is what the project was there',
    body: wire.checkpointBody,
    reply: schemas.checkpointReply,
    isRefusable: true,
    call: (service, scope, body, caller) => service.checkpoint(scope, body, caller),
  }),
  commandRoute({
    id: 'decide_review',
    path: '/api/review',
    action: 'review',
    summary: 'Decide on a candidate, named by generation, iteration and digest as it was looked at',
    body: wire.reviewBody,
    reply: gateResult,
    isRefusable: true,
    call: (service, scope, body, caller) => service.review(scope, body, caller),
  }),
  commandRoute({
    id: 'validate_gaps',
    path: '/api/gaps',
    action: 'work',
    summary: 'Tell which requirements are covered; what lacks something raises an intent, once',
    body: wire.gapsBody,
    reply: schemas.gapsReply,
    call: (service, scope, body, caller) => service.gaps(scope, body, caller),
  }),
  commandRoute({
    id: 'release',
    path: '/api/release',
    action: 'operate',
    summary: 'Release a version, where nothing stands against it; with dry_run, say what does',
    body: wire.releaseBody,
    reply: schemas.releaseReply,
    isRefusable: true,
    call: (service, scope, body, caller) => service.release(scope, body, caller),
  }),
];

/** Twice the limit of the files, for JSON escapes and multi-byte characters. */
const FILES_BYTES_MAX = 2 * ALL_FILES_LENGTH_MAX;

const initRoute = defineRoute({
  id: 'init',
  method: 'POST',
  path: '/api/init',
  tenant: 'own',
  action: 'operate',
  summary: 'Take the files of a workspace as what the project says of how it works; none: the built-in ways',
  body: {
    kind: 'json',
    schema: z.strictObject({ ...projectField, ...configureBody.partial({ files: true }).shape }),
    bytes_max: FILES_BYTES_MAX,
    is_document: true,
  },
  reply: schemas.configureReply,
  run: async ({ context, tenant_id, body, caller }: RequestContext) => {
    const { settings } = context.coordinator;
    if (body instanceof JsonText) return toResponse(await settings.configureText(tenant_id, body, caller));
    const read = splitProject(body);
    if (isProblem(read)) return toResponse(read);
    const { project_id, asked } = read;
    return toResponse(await settings.configure({ tenant_id, project_id }, { files: {}, ...asked }, caller));
  },
});

const booleanText = z.enum(['true', 'false']).exactOptional();
const statusQuery = z.strictObject({
  feature: wire.featureBody.shape.feature.exactOptional(),
  health: booleanText.describe('whether the project is sound, in place of how far it is'),
  gantt: booleanText.describe('a chart for Mermaid, in place of how far it is'),
});

const viewRoutes: readonly Route[] = [
  viewRoute({
    id: 'methodology_status',
    path: '/api/status',
    summary: 'How far the features are: all of them or one, their health, or a chart',
    query: statusQuery,
    reply: z.union([shown.statusReply, shown.featureReply, shown.healthReply, shown.ganttReply]),
    call: (service, scope, viewQuery) => {
      const { feature, health, gantt } = viewQuery as z.output<typeof statusQuery>;
      if (health === 'true') return service.health(scope);
      if (gantt === 'true') return service.gantt(scope);
      return feature === undefined ? service.status(scope) : service.feature(scope, { feature });
    },
  }),
  viewRoute({
    id: 'zoom',
    path: '/api/zoom',
    summary: 'An edge from near: what it asks for, and how far each feature is on it',
    query: wire.zoomBody,
    reply: shown.zoomReply,
    call: (service, scope, viewQuery) => service.zoom(scope, viewQuery),
  }),
  viewRoute({
    id: 'trace',
    path: '/api/trace',
    summary: 'A requirement from its intent to what was made of it',
    query: wire.traceBody,
    reply: shown.traceReply,
    call: (service, scope, viewQuery) => service.trace(scope, viewQuery),
  }),
  viewRoute({
    id: 'pending_reviews',
    path: '/api/review',
    summary: 'What waits for a human, and what a decision on it must name',
    query: z.strictObject({}),
    reply: schemas.reviewsReply,
    call: (service, scope) => service.reviews(scope),
  }),
  viewRoute({
    id: 'known_gaps',
    path: '/api/gaps',
    summary: 'The gaps that were found last; looks for none and writes nothing',
    query: z.strictObject({}),
    reply: schemas.gapsFoundReply,
    call: (service, scope) => service.gapsFound(scope),
  }),
];

export const methodologyRoutes: readonly Route[] = [initRoute, ...commandRoutes, ...viewRoutes];
