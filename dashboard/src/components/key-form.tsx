import { type FormEvent, useState } from 'react';
import { readKey, storeKey } from '../api/key.js';

/** Asks for an API key. It stays in this tab. */
export function KeyForm() {
  const [key, setKey] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    storeKey(key);
    location.reload();
  };
  return (
    <form className="card key-form" onSubmit={submit}>
      <h2>This server requires a key</h2>
      {readKey() === null ? null : (
        <p className="failure" role="alert">
          The server does not accept the key of this tab. It is unknown, expired or revoked.
        </p>
      )}
      <label>
        API key
        <input
          type="password"
          autoComplete="off"
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      </label>
      <button type="submit" disabled={key.trim() === ''}>
        Use this key
      </button>
      <p className="quiet">
        Make one: <code>gen key create --role viewer</code>. The key stays in this tab until it is closed.
      </p>
    </form>
  );
}
