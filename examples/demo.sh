#!/bin/sh
# The main job, offline: sh examples/demo.sh FOLDER_OF_THE_DAERI_COMMAND
set -eu
daeri="$1/daeri"
cd "$(dirname "$0")"
# The planner is named here, so that no key in the environment sends the goal anywhere.
"$daeri" run --model planner "단가를 확인해서 제품 7개의 총 가격을 계산해 주세요."
