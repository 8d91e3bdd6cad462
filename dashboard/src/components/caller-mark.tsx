import { forgetKey, readKey } from '../api/key.js';
import { useWhoami } from '../api/whoami.js';
import { UntrustedText } from './untrusted-text.js';

/** Who uses the page, and a button that forgets the key, so that the page asks for another. */
export function CallerMark() {
  const { data } = useWhoami();
  const forgetKeyAndReload = () => {
    forgetKey();
    location.reload();
  };
  return (
    <span className="caller quiet">
      {data === undefined ? null : (
        <span className="caller-name" title="Name and role of the caller">
          {data.name === null ? 'no key' : <UntrustedText text={data.name} />} · {data.role}
        </span>
      )}
      {readKey() === null || data?.name === null ? null : (
        <button type="button" className="plain" onClick={forgetKeyAndReload}>
          Change key
        </button>
      )}
    </span>
  );
}
