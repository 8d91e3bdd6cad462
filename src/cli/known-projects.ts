import type { Genesis } from '../client/index.js';
import { isProblem } from '../client/replies.js';

const NAMES_MAX = 10;

/** A sentence for a refusal that names the projects of the tenant. Empty if the server does not list them. */
export async function knownProjectsText(genesis: Genesis): Promise<string> {
  const reply = await genesis.projects({ limit: NAMES_MAX + 1 });
  if (isProblem(reply)) return '';
  if (reply.projects.length === 0) return 'The tenant has no projects yet.';
  const names = reply.projects.map(({ project_id }) => project_id);
  // The request asked for one more than is shown.
  if (names.length > NAMES_MAX)
    return `Projects: ${names.slice(0, NAMES_MAX).join(', ')} and more (gen projects).`;
  return `Projects: ${names.join(', ')}.`;
}
