import type { Genesis } from '../../client/index.js';
import type { ProjectEntry } from '../../core/contract/overview.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { formatUtc } from '../output/text.js';
import { unwrapReply } from '../replies.js';

const PAGE_SIZE = 1000;
/** Maximum number of listed projects. It bounds the memory of this command. */
const PROJECTS_MAX = 100_000;

export const projectsCommand = defineCommand('projects', {
  description: 'list the projects of this tenant',
  async run(context) {
    const projects = await allProjects(await context.genesisForTenant());
    context.printReply({ projects, next: null }, () =>
      projects.length === 0
        ? `Tenant ${context.tenant} has no projects. Create one by importing a plan: gen plan import FILE --project NAME`
        : context.table(projects, [
            { title: 'Project', cell: ({ project_id }) => project_id, is_flexible: true },
            { title: 'Events', cell: ({ position }) => String(position) },
            {
              title: 'Last event (UTC)',
              cell: ({ last_updated }) => formatUtc(last_updated),
              is_fixed: true,
            },
          ]),
    );
  },
});

async function allProjects(genesis: Genesis): Promise<ProjectEntry[]> {
  const projects: ProjectEntry[] = [];
  let after: string | undefined;
  do {
    const page = unwrapReply(await genesis.projects({ limit: PAGE_SIZE, ...withoutUndefined({ after }) }));
    projects.push(...page.projects);
    after = page.next ?? undefined;
  } while (after !== undefined && projects.length < PROJECTS_MAX);
  return projects;
}
