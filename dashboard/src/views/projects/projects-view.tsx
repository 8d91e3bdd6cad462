import { isUnauthenticated } from '../../api/call.js';
import { addressOf, scope } from '../../api/scope.js';
import { useReply } from '../../api/use-reply.js';
import { useWhoami } from '../../api/whoami.js';
import { CallerMark } from '../../components/caller-mark.js';
import { KeyForm } from '../../components/key-form.js';
import { Empty, QueryResult } from '../../components/states.js';

/** The list of projects. If there is only one project, it opens at once. */
export function ProjectsView() {
  const { tenant } = scope();
  const query = useReply('list_projects');
  const ownTenant = useWhoami().data?.tenant_id ?? tenant;
  if (isUnauthenticated(query.error))
    return (
      <main className="projects">
        <KeyForm />
      </main>
    );
  // The key belongs to one tenant, so the page shows that tenant.
  if (ownTenant !== tenant) location.replace(`/?tenant=${encodeURIComponent(ownTenant)}`);
  return (
    <main className="projects">
      <h1>Projects</h1>
      <CallerMark />
      <QueryResult query={query}>
        {({ projects }) => {
          const [only, other] = projects;
          if (only !== undefined && other === undefined)
            location.replace(addressOf({ tenant, project: only.project_id }));
          if (only === undefined)
            return (
              <Empty title="There is no project yet">
                <p>
                  Import a plan: <code>gen plan import FILE</code>, or start in a workspace:{' '}
                  <code>gen init</code>
                </p>
              </Empty>
            );
          return (
            <ul>
              {projects.map(({ project_id }) => (
                <li key={project_id}>
                  <a href={addressOf({ tenant, project: project_id })}>{project_id}</a>
                </li>
              ))}
            </ul>
          );
        }}
      </QueryResult>
    </main>
  );
}
