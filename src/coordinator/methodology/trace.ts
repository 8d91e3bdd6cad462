import type { z } from 'zod';
import { type TracedFeature, traceView } from '../../core/features/trace.js';
import type { RouteQuestion } from '../../core/graph/route.js';
import type { Seen, TraceReply, traceBody } from './wire.js';

type Asked = z.output<typeof traceBody>;

/** A requirement through the log, in the direction that was asked for. */
export function traceIn(question: RouteQuestion, { req, direction }: Asked): Omit<TraceReply, keyof Seen> {
  const trace = traceView(question, req);
  return { ...trace, direction, features: trace.features.map((feature) => seenFrom(feature, direction)) };
}

function seenFrom(feature: TracedFeature, direction: Asked['direction']): TracedFeature {
  if (direction === 'forward') return { ...feature, intent: null, parent: null };
  return direction === 'backward' ? { ...feature, children: [], chain: [] } : feature;
}
