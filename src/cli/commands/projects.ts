import { command } from '../command.js';
import { allProjects } from '../known-projects.js';
import { formatUtc } from '../output/text.js';

export const addProjects = command('projects', {
  description: 'list the projects of this tenant',
  async run(context) {
    const projects = await allProjects(await context.genesisForTenant());
    context.show({ projects, next: null }, () =>
      projects.length === 0
        ? `Tenant ${context.tenant} has no projects. Create one by importing a plan: gen plan import FILE --project NAME`
        : context.table(projects, [
            { head: 'Project', cell: ({ project_id }) => project_id, is_flexible: true },
            { head: 'Events', cell: ({ position }) => String(position) },
            { head: 'Last event (UTC)', cell: ({ last_updated }) => formatUtc(last_updated), is_fixed: true },
          ]),
    );
  },
});
