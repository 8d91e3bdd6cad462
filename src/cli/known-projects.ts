import type { Genesis } from '../client/index.js';
import { isProblem } from '../client/replies.js';
import type { ProjectEntry } from '../core/contract/overview.js';
import { withoutUndefined } from '../core/without-undefined.js';
import { Workspace } from '../workspace/workspace.js';
import type { CommandContext } from './context.js';
import { type CommandFailure, failureWithCode } from './exit.js';
import { unwrapReply } from './replies.js';

const PAGE_SIZE = 1000;
/** Bounds the memory. */
const PROJECTS_MAX = 100_000;
const NAMES_MAX = 10;

export async function allProjects(genesis: Genesis): Promise<ProjectEntry[]> {
  const projects: ProjectEntry[] = [];
  let after: string | undefined;
  do {
    const page = unwrapReply(await genesis.projects({ limit: PAGE_SIZE, ...withoutUndefined({ after }) }));
    projects.push(...page.projects);
    after = page.next ?? undefined;
  } while (after !== undefined && projects.length < PROJECTS_MAX);
  return projects;
}

/** A sentence with the projects there are, for a refusal; empty if the server does not say. */
export async function knownProjectsText(genesis: Genesis): Promise<string> {
  const reply = await genesis.projects({ limit: NAMES_MAX + 1 });
  if (isProblem(reply)) return '';
  if (reply.projects.length === 0) return 'The tenant has no projects yet.';
  const names = reply.projects.map(({ project_id }) => project_id);
  // There may be more than one page.
  if (names.length > NAMES_MAX)
    return `Projects: ${names.slice(0, NAMES_MAX).join(', ')} and more (gen projects).`;
  return `Projects: ${names.join(', ')}.`;
}

/** The server answers for any project name. A project without events is most likely a typo. */
export async function unknownProject(genesis: Genesis): Promise<CommandFailure> {
  const { project, tenant } = genesis;
  const known = await knownProjectsText(genesis);
  return failureWithCode(
    'NOT_FOUND',
    `Project ${project} of tenant ${tenant} does not exist: it has no events. Check the name, or import a plan: gen plan import FILE. ${known}`.trimEnd(),
  );
}

/** Fails if the server does not respond, or the project has no events. The project of a workspace exists by its files. */
export async function assertProjectExists(context: CommandContext, genesis: Genesis): Promise<void> {
  const { events } = unwrapReply(await genesis.events({ limit: 1 }));
  const isWorkspaceProject = context.explicitUrl === null && Workspace.find(context.io.cwd) !== null;
  if (events.length === 0 && !isWorkspaceProject) throw await unknownProject(genesis);
}
