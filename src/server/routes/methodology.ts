import { z } from 'zod';
import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { UnparsedJson } from '../../coordinator/documents/unparsed-json.js';
import type { MethodologyService } from '../../coordinator/methodology/service.js';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { projectIdSchema } from '../../core/ids.js';
import type { ProjectKey } from '../../stores/store.js';
import { type ApiCall, jsonHandlers } from '../route.js';

const projectField = z.object({ project_id: projectIdSchema });

/** Handles a command whose body names the project. The tenant is that of the credential, or the header selects it. */
export const projectCommand =
  (
    run: (coordinator: Coordinator, projectKey: ProjectKey, body: object, caller: Caller) => Promise<object>,
  ) =>
  async ({ coordinator, tenant, body, caller }: ApiCall): Promise<object> => {
    const fields = parseBody(projectField, body);
    if (isProblem(fields)) return fields;
    // The other fields stay as sent, so that the coordinator validates all of them.
    const { project_id: _, ...commandBody } = body as { project_id: unknown };
    return run(coordinator, { tenant_id: tenant, ...fields }, commandBody, caller);
  };

type View<Query> = (service: MethodologyService, projectKey: ProjectKey, query: Query) => Promise<object>;

/** Handles a view whose query names the project. */
const projectView =
  <Query extends { project_id: string }>(run: View<Omit<Query, 'project_id'>>) =>
  ({ coordinator, tenant, query: { project_id, ...query } }: ApiCall<Query>) =>
    run(coordinator.methodology, { tenant_id: tenant, project_id }, query);

type StatusQuery = {
  project_id: string;
  feature?: string;
  health?: string;
  gantt?: string;
  agent_id?: string;
  at?: number;
};

const configure = projectCommand(({ settings }, projectKey, body, caller) =>
  settings.configure(projectKey, { files: {}, ...body }, caller),
);

export const methodologyHandlers = jsonHandlers({
  init: (call) => {
    const { coordinator, tenant, body, caller } = call;
    if (body instanceof UnparsedJson) return coordinator.settings.configureText(tenant, body, caller);
    return configure(call);
  },
  start: projectCommand(({ methodology }, ...request) => methodology.start(...request)),
  spawn: projectCommand(({ methodology }, ...request) => methodology.spawn(...request)),
  fold_back: projectCommand(({ methodology }, ...request) => methodology.foldBack(...request)),
  checkpoint: projectCommand(({ methodology }, ...request) => methodology.checkpoint(...request)),
  decide_review: projectCommand(({ methodology }, ...request) => methodology.review(...request)),
  create_review_link: projectCommand(({ reviewLinks }, ...request) => reviewLinks.create(...request)),
  decide_proposal: projectCommand(({ plans }, ...request) => plans.decideProposal(...request)),
  validate_gaps: projectCommand(({ methodology }, ...request) => methodology.gaps(...request)),
  release: projectCommand(({ methodology }, ...request) => methodology.release(...request)),

  methodology_status: projectView<StatusQuery>(
    (service, projectKey, { feature, health, gantt, ...query }) => {
      const { agent_id: _, ...at } = query;
      if (health === 'true') return service.health(projectKey, at);
      if (gantt === 'true') return service.gantt(projectKey, at);
      return feature === undefined
        ? service.status(projectKey, query)
        : service.feature(projectKey, { feature, ...at });
    },
  ),
  zoom: projectView((service, projectKey, query) => service.zoom(projectKey, query)),
  trace: projectView((service, projectKey, query) => service.trace(projectKey, query)),
  pending_reviews: projectView((service, projectKey) => service.reviews(projectKey)),
  known_gaps: projectView((service, projectKey, query) => service.recordedGaps(projectKey, query)),
});
