import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { visibleText } from '../../components/untrusted-text.js';
import { FeatureButton } from './spawn-tree.js';

/** Why features cannot continue, and which others they wait for. */
export function BlockedFeatures({
  status,
  onChoose,
}: {
  status: MethodologyStatus;
  onChoose: (feature: string) => void;
}) {
  const waiting = status.features.filter(({ waits_for }) => waits_for !== null);
  if (waiting.length === 0) return null;
  return (
    <section className="card" aria-label="Blocked">
      <h2>Blocked features</h2>
      <ul className="features-blocks">
        {waiting.map(({ feature_id, waits_for, dependencies }) => (
          <li key={feature_id}>
            <FeatureButton id={feature_id} onChoose={onChoose} />: {visibleText(waits_for ?? '')}
            {dependencies.length === 0 ? null : (
              <span className="features-depends quiet">
                Depends on{' '}
                {dependencies.map(({ feature, asset, status: progress }, index) => (
                  <span key={`${feature} ${asset}`}>
                    {index === 0 ? '' : '; '}
                    <FeatureButton id={feature} onChoose={onChoose} />
                    {asset === null ? '' : `, ${visibleText(asset)}`} (
                    {visibleText(progress.replaceAll('_', ' '))})
                  </span>
                ))}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
