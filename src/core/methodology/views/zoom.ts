import type { BandView, EdgeView, ZoomView } from '../../contract/methodology-views.js';
import { BANDS, type Band } from '../../contract/values.js';
import { ownValue } from '../../own-value.js';
import { canonicalEdge } from '../definition/edge-name.js';
import type { Methodology, Topology, Transition } from '../definition/methodology.js';
import { isCountedStep } from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { type ProjectProgress, projectProgressOf } from '../progress/project-progress.js';
import { percentOf } from './status.js';

/** Overview of the graph in four bands, with details of one edge. Read-only. */
export function zoomView(input: RouteInput, edge: string | null): ZoomView {
  const { methodology } = input;
  if (methodology === null) return { bands: [], edge: null, unknown_edge: edge };
  const projectProgress = projectProgressOf(input);
  const bands = BANDS.map((band) => bandView(methodology.topology, projectProgress, band));
  if (edge === null) return { bands, edge: null, unknown_edge: null };
  const canonical = canonicalEdge(edge);
  const transition = methodology.topology.transitions.find((transition) => transition.edge === canonical);
  if (transition === undefined) return { bands, edge: null, unknown_edge: edge };
  return { bands, edge: edgeView(methodology, projectProgress, transition), unknown_edge: null };
}

const ASSETS_BY_BAND: Readonly<Record<Band, readonly string[]>> = {
  Specification: ['intent', 'requirements', 'design'],
  Construction: ['code', 'unit_tests'],
  Validation: ['test_cases', 'uat_tests'],
  Operations: ['cicd', 'running_system', 'telemetry'],
};
const bandOfAsset = (asset: string): Band | undefined =>
  BANDS.find((band) => ASSETS_BY_BAND[band].includes(asset));

/**
 * Band of an edge, by its target. If only this project defines that asset type, the band of the source counts; if only it
 * defines the source too, the band of the edge that produces the source. Edges that start at telemetry belong to Operations.
 */
function bandOf({ source, target }: Transition, topology: Topology, visited = new Set<string>()): Band {
  if (source === 'telemetry') return 'Operations';
  const band = bandOfAsset(target) ?? bandOfAsset(source);
  if (band !== undefined || visited.has(source)) return band ?? 'Construction';
  const producer = topology.transitions.find((transition) => transition.target === source);
  return producer === undefined ? 'Construction' : bandOf(producer, topology, visited.add(source));
}

function bandView(topology: Topology, { features }: ProjectProgress, band: Band): BandView {
  const edges = topology.transitions
    .filter((transition) => bandOf(transition, topology) === band)
    .map(({ edge }) => edge);
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
  const checklist = ownValue(methodology.edges, edge)?.checklist ?? [];
  const sub_steps = checklist.map(({ name, type, criterion }) => ({ name, type, criterion }));
  const features = [...featureMap].flatMap(([feature_id, { steps }]) =>
    steps
      .filter((step) => step.edge === edge)
      .map(({ status, state }) => {
        const { iteration = 0, delta = null } = state ?? {};
        return { feature_id, status, iteration, delta };
      }),
  );
  const hint =
    sub_steps.length > SUB_STEPS_UNTIL_HINT
      ? `${sub_steps.length} checks on one edge: consider an intermediate asset with its own edge`
      : null;
  const band = bandOf(transition, methodology.topology);
  return { edge, name, band, source, target, edge_type, evaluators, sub_steps, features, hint };
}
