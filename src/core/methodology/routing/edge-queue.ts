import type { Priority } from '../../contract/values.js';
import { checkAuthority } from '../definition/authority.js';
import { edgeSubject } from '../definition/edge-name.js';
import { unconvergedSteps } from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { projectProgressOf } from '../progress/project-progress.js';
import { chooseRoute } from './choose-route.js';
import type { RouteOption } from './route-edge.js';
import { routeOptions } from './route-options.js';

/** An edge that an agent could claim now. */
interface ReadyEdge {
  readonly subject: string;
  /** On the scale of tasks: a feature of medium priority ranks like a task without a priority. */
  readonly priority: number;
}

/** The edges of a project as a queue of work for one agent. */
export interface EdgeQueue {
  readonly feature_count: number;
  /**
   * In the order in which `gen start` recommends them, but edges within the authority of the agent's role come first.
   * Advisory: only a claim decides.
   */
  readonly ready: readonly ReadyEdge[];
  /** The next edge of each open feature: what an agent without ready work waits for. */
  readonly open: readonly string[];
  /** The reasons of `gen start` for its recommendation, or why nothing is ready; and the next command. */
  readonly advice: string;
}

const TASK_PRIORITY_OF_FEATURE: Readonly<Record<Priority, number>> = {
  critical: 2,
  high: 1,
  medium: 0,
  low: -1,
};

export function edgeQueue(input: RouteInput, agentRole: string | null): EdgeQueue {
  const project = projectProgressOf(input);
  const openFeatures = [...project.features.values()].filter(({ isComplete }) => !isComplete);
  const route = chooseRoute(input, project);
  const options = route.feature === null ? [] : routeOptions(project).available;
  return {
    feature_count: project.features.size,
    ready: orderByAuthority(input, options, agentRole).map(({ progress, step }) => ({
      subject: edgeSubject(progress.row.feature.feature_id, step.edge),
      priority: TASK_PRIORITY_OF_FEATURE[progress.row.feature.priority],
    })),
    open: openFeatures.flatMap((progress) => {
      const [first] = unconvergedSteps(progress);
      return first === undefined ? [] : [edgeSubject(progress.row.feature.feature_id, first.edge)];
    }),
    advice: `${toSentence(route.reasons.join('; '))} Next: ${route.next}`,
  };
}

/** Edges that the role may converge come first, then edges outside its authority. Edges whose results are rejected are left out. */
function orderByAuthority(
  { methodology }: RouteInput,
  options: readonly RouteOption[],
  agentRole: string | null,
): RouteOption[] {
  if (agentRole === null) return [...options];
  const decisionOf = ({ step }: RouteOption) =>
    checkAuthority(methodology, { edge: step.edge, agent_role: agentRole, files: [], is_human: false })
      .decision;
  const withinAuthority = options.filter((option) => decisionOf(option) === 'granted');
  const outsideAuthority = options.filter((option) => !['granted', 'reject'].includes(decisionOf(option)));
  return [...withinAuthority, ...outsideAuthority];
}

const toSentence = (text: string): string =>
  text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}.`;
