"""What `lint` writes as SARIF is valid by the schema of the standard (tests/lint/sarif).

    sarif.py FOLDER_OF_THE_REPOSITORY
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import ptxasw

root = pathlib.Path(sys.argv[1])
schema = json.loads((root / "tests/lint/sarif/sarif-schema-2.1.0.json").read_text())
validator = jsonschema.validators.validator_for(schema)(schema)

# Findings in the PTX, and one whose line of a source was inlined.
bad = (root / "tests/lint/uncoalesced-load.bad.ptx").read_text()
located = bad.replace(".address_size 64\n", '.address_size 64\n.file 1 "/a dir/stats.cu"\n')
located = located.replace("LOOP:\n", "LOOP:\n.loc 1 3 8, function_name $L__info_string0, inlined_at 1 9 3\n")
with tempfile.TemporaryDirectory() as folder:
    inlined = pathlib.Path(folder, "in lined.ptx")
    inlined.write_text(located)
    files = [inlined, *sorted((root / "tests/lint").glob("*.ptx"))]
    command = [ptxasw.program(), "lint", "--format", "sarif", *map(str, files)]
    log = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
errors = [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(log)]
assert not errors, errors
results = log["runs"][0]["results"]
assert len(results) > 20
assert any(one["message"]["text"] == "inlined here" for result in results for one in result["relatedLocations"])

# The schema is one that refuses.
wrong = copy.deepcopy(log)
wrong["runs"][0]["results"][0]["level"] = "loud"
assert not validator.is_valid(wrong)
