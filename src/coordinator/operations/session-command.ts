import type { ProjectKey } from '../../stores/store.js';
import {
  needsSignatureCheck,
  type SessionCommand,
  withSignatureCheck,
} from '../authentication/signatures.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { AsyncReply, Problem } from '../wire/problem.js';

/** Runs a session's command. A signature that is present or required is checked before the command enters the queue. */
export function runSessionCommand<T>(
  projects: Projects,
  projectKey: ProjectKey,
  command: SessionCommand,
  work: (project: Project) => Promise<T | Problem>,
  refuseUnknownProject?: (problem: Problem) => T | Problem,
): AsyncReply<T> {
  const project = projects.activeProject(projectKey);
  if (project !== undefined && !needsSignatureCheck(project, command)) return work(project);
  return projects.withProject(
    projectKey,
    (project) => withSignatureCheck(project, command, () => work(project)),
    refuseUnknownProject,
  );
}
