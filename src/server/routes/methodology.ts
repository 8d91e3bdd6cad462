import { z } from 'zod';
import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { JsonText } from '../../coordinator/documents/json-text.js';
import type { MethodologyService } from '../../coordinator/methodology/service.js';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { projectIdSchema } from '../../core/ids.js';
import type { ProjectKey } from '../../stores/store.js';
import { type ApiCall, jsonHandlers } from '../route.js';

const projectField = z.object({ project_id: projectIdSchema });

/** Handles a command whose body names the project. The tenant is that of the credential, or the header selects it. */
export const projectCommand =
  (run: (coordinator: Coordinator, project: ProjectKey, body: object, caller: Caller) => Promise<object>) =>
  async ({ coordinator, tenant, body, caller }: ApiCall): Promise<object> => {
    const fields = parseBody(projectField, body);
    if (isProblem(fields)) return fields;
    // The other fields stay as sent, so that the coordinator validates all of them.
    const { project_id: _, ...commandBody } = body as { project_id: unknown };
    return run(coordinator, { tenant_id: tenant, ...fields }, commandBody, caller);
  };

type View<Query> = (service: MethodologyService, project: ProjectKey, query: Query) => Promise<object>;

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

const configure = projectCommand(({ settings }, project, body, caller) =>
  settings.configure(project, { files: {}, ...body }, caller),
);

export const methodologyHandlers = jsonHandlers({
  init: (call) => {
    const { coordinator, tenant, body, caller } = call;
    if (body instanceof JsonText) return coordinator.settings.configureText(tenant, body, caller);
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

  methodology_status: projectView<StatusQuery>((service, project, { feature, health, gantt, ...query }) => {
    const { agent_id: _, ...at } = query;
    if (health === 'true') return service.health(project, at);
    if (gantt === 'true') return service.gantt(project, at);
    return feature === undefined
      ? service.status(project, query)
      : service.feature(project, { feature, ...at });
  }),
  zoom: projectView((service, project, query) => service.zoom(project, query)),
  trace: projectView((service, project, query) => service.trace(project, query)),
  pending_reviews: projectView((service, project) => service.reviews(project)),
  known_gaps: projectView((service, project, query) => service.recordedGaps(project, query)),
});
