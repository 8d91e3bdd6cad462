import { Link } from 'wouter';
import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';

type FeatureSummary = MethodologyStatus['features'][number];

/** Progress per feature. Each row links to the edges of the feature. */
export function FeatureProgress({ features }: { features: readonly FeatureSummary[] }) {
  return (
    <ul className="tracks">
      {features.map(({ feature_id, edges_converged, edges_total, status }) => {
        const text = `${edges_converged} of ${edges_total}`;
        return (
          <li key={feature_id}>
            <Link href={`/features?feature=${encodeURIComponent(feature_id)}`}>{feature_id}</Link>
            <progress
              max={Math.max(1, edges_total)}
              value={edges_converged}
              aria-label={`Feature ${feature_id}: ${text} edges converged`}
            />
            <span className="number">{text}</span>
            {status === 'converged' ? null : <span className="quiet">{status.replaceAll('_', ' ')}</span>}
          </li>
        );
      })}
    </ul>
  );
}
