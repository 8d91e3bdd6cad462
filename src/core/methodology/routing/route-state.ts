import type { WorkspaceState } from '../../contract/values.js';
import { ownValue } from '../../own-value.js';
import type { Methodology } from '../definition/methodology.js';
import { type FeatureProgress, unconvergedSteps } from '../progress/feature-progress.js';
import type { ProjectProgress } from '../progress/project-progress.js';

/** Derives the state of the workspace: the first of the eight states that applies. */
export function workspaceState({ methodology, features, statusOf }: ProjectProgress): WorkspaceState {
  if (methodology === null) return 'UNINITIALISED';
  const active = [...features.values()].filter(({ isComplete }) => !isComplete);
  if (
    undecidedDimensions(methodology).length > 0 &&
    active.some((progress) => needsConstraints(methodology, progress))
  ) {
    return 'NEEDS_CONSTRAINTS';
  }
  if (!methodology.has_intent) return 'NEEDS_INTENT';
  if (features.size === 0) return 'NO_FEATURES';
  const statuses = active.map(statusOf);
  if (statuses.includes('stuck')) return 'STUCK';
  if (statuses.length > 0 && statuses.every((status) => WAITING_STATUSES.has(status))) return 'ALL_BLOCKED';
  return statuses.length > 0 ? 'IN_PROGRESS' : 'ALL_CONVERGED';
}

const WAITING_STATUSES: ReadonlySet<string> = new Set(['blocked', 'pending_review', 'time_box_expired']);

const FIRST_CONSTRAINED_EDGE = 'requirements_design';

/**
 * Whether a feature depends on the mandatory dimensions: one of its converged edges, or its current edge, is the design edge
 * or comes after it. A claim on a later edge does not count.
 */
function needsConstraints({ topology }: Methodology, progress: FeatureProgress): boolean {
  const order = topology.transitions.map(({ edge }) => edge);
  const firstIndex = order.indexOf(FIRST_CONSTRAINED_EDGE);
  if (firstIndex === -1) return false;
  const convergedSteps = progress.steps.filter(({ status }) => status === 'converged');
  const currentStep = unconvergedSteps(progress).slice(0, 1);
  return [...convergedSteps, ...currentStep].some(({ edge }) => order.indexOf(edge) >= firstIndex);
}

export function undecidedDimensions({ topology, constraints }: Methodology): string[] {
  return topology.constraint_dimensions
    .filter(
      ({ name, mandatory }) => mandatory && !isDimensionDecided(constraints.constraint_dimensions, name),
    )
    .map(({ name }) => name);
}

export function isDimensionDecided(dimensions: Readonly<Record<string, unknown>>, name: string): boolean {
  return hasContent(ownValue(dimensions, name));
}

/** Whether a value is, or contains, a non-empty text, a number or a boolean. */
function hasContent(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value === 'string') return value.trim() !== '';
  return typeof value === 'object' ? Object.values(value).some(hasContent) : true;
}
