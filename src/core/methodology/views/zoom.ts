import { ownValue } from '../../own-value.js';
import { canonicalEdge } from '../definition/edge-name.js';
import type { Methodology, Topology, Transition } from '../definition/methodology.js';
import { isCountedStep, type StepStatus } from '../progress/feature-progress.js';
import { type ProjectProgress, projectProgressOf } from '../progress/project-progress.js';
import type { RouteInput } from '../progress/route-input.js';
import { percentOf } from './status.js';

export const BANDS = ['Specification', 'Construction', 'Validation', 'Operations'] as const;
export type Band = (typeof BANDS)[number];

export interface BandView {
  readonly band: Band;
  readonly edges: readonly string[];
  readonly converged: number;
  readonly total: number;
  readonly percent: number;
}

/** Details of one edge: its requirements and the features on it. */
export interface EdgeView {
  readonly edge: string;
  readonly name: string;
  readonly band: Band;
  readonly source: string;
  readonly target: string;
  readonly edge_type: Transition['edge_type'];
  readonly evaluators: readonly string[];
  readonly sub_steps: readonly { readonly name: string; readonly type: string; readonly criterion: string }[];
  readonly features: readonly {
    readonly feature_id: string;
    readonly status: StepStatus;
    readonly iteration: number;
    readonly delta: number | null;
  }[];
  readonly hint: string | null;
}

export interface ZoomView {
  readonly bands: readonly BandView[];
  readonly edge: EdgeView | null;
  /** Set if the requested edge is not in the topology. */
  readonly unknown_edge: string | null;
}

/** Overview of the graph in four bands, with details of one edge. Read-only. */
export function zoomView(input: RouteInput, edge: string | null): ZoomView {
  const { methodology } = input;
  if (methodology === null) return { bands: [], edge: null, unknown_edge: edge };
  const projectProgress = projectProgressOf(input);
  const bands = BANDS.map((band) => bandView(methodology.topology, projectProgress, band));
  if (edge === null) return { bands, edge: null, unknown_edge: null };
  const canonical = canonicalEdge(edge);
  const transition = methodology.topology.transitions.find((one) => one.edge === canonical);
  if (transition === undefined) return { bands, edge: null, unknown_edge: edge };
  return { bands, edge: edgeView(methodology, projectProgress, transition), unknown_edge: null };
}

const BAND_BY_ASSET: ReadonlyMap<string, Band> = new Map([
  ['intent', 'Specification'],
  ['requirements', 'Specification'],
  ['design', 'Specification'],
  ['code', 'Construction'],
  ['unit_tests', 'Construction'],
  ['test_cases', 'Validation'],
  ['uat_tests', 'Validation'],
  ['cicd', 'Operations'],
  ['running_system', 'Operations'],
  ['telemetry', 'Operations'],
]);

/**
 * Band of an edge, by its target. Assets of the project's own belong to the band of their source; the feedback edge
 * belongs to Operations.
 */
function bandOf({ source, target }: Transition, { transitions }: Topology, seen = new Set<string>()): Band {
  if (source === 'telemetry') return 'Operations';
  const known = BAND_BY_ASSET.get(target) ?? BAND_BY_ASSET.get(source);
  if (known !== undefined || seen.has(source)) return known ?? 'Construction';
  const producer = transitions.find((one) => one.target === source);
  return producer === undefined
    ? 'Construction'
    : bandOf(producer, { transitions } as Topology, seen.add(source));
}

function bandView(topology: Topology, { features }: ProjectProgress, band: Band): BandView {
  const edges = topology.transitions.filter((one) => bandOf(one, topology) === band).map(({ edge }) => edge);
  const steps = [...features.values()]
    .flatMap((progress) => progress.steps)
    .filter((step) => isCountedStep(step) && edges.includes(step.edge));
  const converged = steps.filter(({ status }) => status === 'converged').length;
  return { band, edges, converged, total: steps.length, percent: percentOf(converged, steps.length) };
}

const SUB_STEPS_UNTIL_HINT = 5;

function edgeView(
  methodology: Methodology,
  { features: featureMap }: ProjectProgress,
  transition: Transition,
): EdgeView {
  const { edge, name, source, target, edge_type, evaluators } = transition;
  const sub_steps = (ownValue(methodology.edges, edge)?.checklist ?? []).map((check) => ({
    name: check.name,
    type: check.type,
    criterion: check.criterion,
  }));
  const features = [...featureMap].flatMap(([feature_id, { steps }]) =>
    steps
      .filter((step) => step.edge === edge)
      .map(({ status, state }) => ({
        feature_id,
        status,
        iteration: state?.iteration ?? 0,
        delta: state?.delta ?? null,
      })),
  );
  const hint =
    sub_steps.length > SUB_STEPS_UNTIL_HINT
      ? `${sub_steps.length} checks on one edge: there may be an asset in between that deserves an edge of its own`
      : null;
  const band = bandOf(transition, methodology.topology);
  return { edge, name, band, source, target, edge_type, evaluators, sub_steps, features, hint };
}
