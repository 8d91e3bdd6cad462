import { z } from 'zod';
import type { Caller } from '../../coordinator/authentication/caller.js';
import { JsonText } from '../../coordinator/documents/json-text.js';
import type { MethodologyService } from '../../coordinator/methodology/service.js';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import { projectIdSchema } from '../../core/ids.js';
import type { ProjectKey } from '../../stores/store.js';
import { type HttpResponse, toResponse } from '../response.js';
import type { Handlers, RequestContext } from '../route.js';

const projectField = z.object({ project_id: projectIdSchema });

/** Splits off the body's project. The rest stays as sent, so that the coordinator validates all of it. */
function splitProject(body: unknown): { project_id: string; rest: object } | Problem {
  const read = parseBody(projectField, body);
  if (isProblem(read)) return read;
  const { project_id: _, ...rest } = body as { project_id: unknown };
  return { ...read, rest };
}

/** Handles a command whose body names the project; the tenant is the credential's. */
const command =
  (
    call: (service: MethodologyService, scope: ProjectKey, body: unknown, caller: Caller) => Promise<object>,
  ) =>
  async ({ context, tenant_id, body, caller }: RequestContext): Promise<HttpResponse> => {
    const read = splitProject(body);
    if (isProblem(read)) return toResponse(read);
    const { project_id, rest } = read;
    return toResponse(await call(context.coordinator.methodology, { tenant_id, project_id }, rest, caller));
  };

/** Handles a view whose query names the project. */
const view =
  <Query extends { project_id: string }>(
    call: (
      service: MethodologyService,
      scope: ProjectKey,
      query: Omit<Query, 'project_id'>,
    ) => Promise<object>,
  ) =>
  async ({ context, tenant_id, query }: RequestContext<Query>): Promise<HttpResponse> => {
    const { project_id, ...rest } = query;
    return toResponse(await call(context.coordinator.methodology, { tenant_id, project_id }, rest));
  };

type StatusQuery = { project_id: string; feature?: string; health?: string; gantt?: string };

export const methodologyHandlers = {
  init: async ({ context, tenant_id, body, caller }) => {
    const { settings } = context.coordinator;
    if (body instanceof JsonText) return toResponse(await settings.configureText(tenant_id, body, caller));
    const read = splitProject(body);
    if (isProblem(read)) return toResponse(read);
    const { project_id, rest } = read;
    return toResponse(await settings.configure({ tenant_id, project_id }, { files: {}, ...rest }, caller));
  },
  start: command((service, scope, body) => service.start(scope, body)),
  spawn: command((service, ...request) => service.spawn(...request)),
  fold_back: command((service, ...request) => service.foldBack(...request)),
  checkpoint: command((service, ...request) => service.checkpoint(...request)),
  decide_review: command((service, ...request) => service.review(...request)),
  validate_gaps: command((service, ...request) => service.gaps(...request)),
  release: command((service, ...request) => service.release(...request)),

  methodology_status: view<StatusQuery>((service, scope, { feature, health, gantt }) => {
    if (health === 'true') return service.health(scope);
    if (gantt === 'true') return service.gantt(scope);
    return feature === undefined ? service.status(scope) : service.feature(scope, { feature });
  }),
  zoom: view((service, scope, query) => service.zoom(scope, query)),
  trace: view((service, scope, query) => service.trace(scope, query)),
  pending_reviews: view((service, scope) => service.reviews(scope)),
  known_gaps: view((service, scope) => service.gapsFound(scope)),
} satisfies Partial<Handlers>;
