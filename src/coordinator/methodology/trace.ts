import type { z } from 'zod';
import type { TracedFeature, TraceReply, traceBody } from '../../core/contract/methodology-views.js';
import type { LogPosition } from '../../core/contract/schema.js';
import type { RouteInput } from '../../core/methodology/progress/feature-state.js';
import { traceView } from '../../core/methodology/views/trace.js';

type ParsedTraceBody = z.output<typeof traceBody>;

/** Traces a requirement through the log in the requested direction. */
export function traceReplyOf(
  input: RouteInput,
  { req, direction }: ParsedTraceBody,
): Omit<TraceReply, keyof LogPosition> {
  const trace = traceView(input, req);
  return {
    ...trace,
    direction,
    features: trace.features.map((feature) => limitToDirection(feature, direction)),
  };
}

function limitToDirection(feature: TracedFeature, direction: ParsedTraceBody['direction']): TracedFeature {
  if (direction === 'forward') return { ...feature, intent: null, parent: null };
  return direction === 'backward' ? { ...feature, children: [], chain: [] } : feature;
}
